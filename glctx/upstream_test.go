//go:build linux && cgo

package glctx_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// readOnlyChild makes a child process of the test mount everything read-only, but a tmpfs,
// at an empty folder, and run programs there: the value is a cache directory and the
// folder, with a colon between.
const readOnlyChild = "GLCTX_TEST_READ_ONLY"

// withUpstream makes a process use an upstream directory, and settings, NAME=VALUE; NAME=
// removes one.
func withUpstream(upstream string, settings ...string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		for _, s := range append([]string{"SHADERCACHE_UPSTREAM=" + upstream}, settings...) {
			name, value, _ := strings.Cut(s, "=")
			cmd.Env = slices.DeleteFunc(cmd.Env, func(old string) bool { return strings.HasPrefix(old, name+"=") })
			if value != "" {
				cmd.Env = append(cmd.Env, s)
			}
		}
	}
}

// newImage returns a cache directory with programs in both layers that is only read.
func newImage(t *testing.T) *binary.Dir {
	t.Helper()
	gltest.Open(t) // skips or fails without a driver
	path := filepath.Join(t.TempDir(), "image")
	if n := loadInChild(t, machineCodeTask{Dir: path, Preload: true}); n.Compiles != machineCodePrograms {
		t.Fatalf("cold: %+v", n)
	}
	image, err := binary.OpenUpstream(path)
	if err != nil {
		t.Fatal(err)
	}
	forBoth := func(directory, file os.FileMode) {
		_ = filepath.WalkDir(path, func(name string, e fs.DirEntry, _ error) error {
			if e.IsDir() {
				return os.Chmod(name, directory)
			}
			return os.Chmod(name, file)
		})
	}
	forBoth(0o555, 0o444)
	t.Cleanup(func() { forBoth(0o755, 0o644) })
	return image
}

// fileTimes returns the times of the files below a directory.
func fileTimes(dir string) map[string]string {
	times := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			times[path] = fmt.Sprint(info.Size(), info.ModTime())
		}
		return nil
	})
	return times
}

// entryNames returns the names of the entries in a driver's cache.
func entryNames(dir string) map[string]bool {
	names := map[string]bool{}
	for _, it := range drivercache.Items(dir) {
		if it.Entry != "" {
			names[it.Entry] = true
		}
	}
	return names
}

// wantWarm checks that a process got all programs from the upstream directory, and that
// the driver made none of their machine code.
func wantWarm(t *testing.T, n binary.Counters) {
	t.Helper()
	if n.Compiles != 0 || n.DiskHits != machineCodePrograms || n.UpstreamHits != machineCodePrograms || n.MachineCodeMisses != 0 {
		t.Errorf("not warm: %+v", n)
	}
}

// TestUpstream starts processes with an upstream directory that they can only read. None
// compiles anything, nor does its driver.
func TestUpstream(t *testing.T) {
	t.Parallel()
	image := newImage(t)
	before := fileTimes(image.Path())
	for name, test := range map[string]func(*testing.T, *binary.Dir){
		"WarmsBothLayers": upstreamWarmsBothLayers,
		"IntoADatabase":   upstreamIntoADatabase,
		"StartTogether":   upstreamOfProcessesThatStartTogether,
		"ReadOnlyRoot":    upstreamOnAReadOnlyRoot,
	} {
		t.Run(name, func(t *testing.T) { test(t, image) })
	}
	if after := fileTimes(image.Path()); !maps.Equal(before, after) {
		t.Errorf("the upstream directory was written")
	}
}

// upstreamWarmsBothLayers starts on an empty directory, on one with machine code of its
// own, and where there is no directory that can be used.
func upstreamWarmsBothLayers(t *testing.T, image *binary.Dir) {
	made := entryNames(image.DriverDir())
	root := t.TempDir()
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	used := filepath.Join(root, "used")
	loadInChild(t, machineCodeTask{Dir: used, First: machineCodePrograms - 1})
	own := entryNames(filepath.Join(used, "driver"))

	for name, c := range map[string]struct {
		dir, where string // SHADERCACHE_DIR, and the directory that is used
		settings   []string
	}{
		"an empty directory": {filepath.Join(root, "empty"), filepath.Join(root, "empty"), nil},
		"a used directory":   {used, used, nil},
		"no home":            {"", filepath.Join(root, "no home", "shadercache"), []string{"HOME=", "XDG_CACHE_HOME="}},
		"a home that is a file": {"", filepath.Join(root, "a home that is a file", "shadercache"),
			[]string{"HOME=" + file, "XDG_CACHE_HOME="}},
		"a directory that is a file": {file, filepath.Join(root, "a directory that is a file", "shadercache"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			runtime := filepath.Join(root, name)
			if err := os.MkdirAll(runtime, 0o700); err != nil {
				t.Fatal(err)
			}
			settings := withUpstream(image.Path(), append(c.settings, "SHADERCACHE_DIR="+c.dir, "XDG_RUNTIME_DIR="+runtime)...)
			n := loadInChild(t, machineCodeTask{}, settings)
			if c.where == used {
				n.UpstreamHits++ // one is its own
			}
			wantWarm(t, n)
			driver := filepath.Join(c.where, "driver")
			got := entryNames(driver)
			for entry := range made {
				if !got[entry] {
					t.Errorf("entry %s was not copied", entry)
				}
				delete(got, entry)
			}
			for entry := range own {
				delete(got, entry)
			}
			if len(got) > 0 {
				t.Errorf("the driver made %d entries", len(got))
			}
			copied := fileTimes(driver)
			n = loadInChild(t, machineCodeTask{}, settings)
			if n.Compiles != 0 || n.MachineCodeMisses != 0 {
				t.Errorf("the second process: %+v", n)
			}
			for path, at := range fileTimes(driver) {
				if filepath.Base(path) != "index" && filepath.Base(path) != "marker" && copied[path] != at {
					t.Errorf("the second process wrote %s", path)
				}
			}
		})
	}
}

// upstreamIntoADatabase starts on a directory in which a process with other settings
// made Mesa use a database, as Mesa from 23 on does by default.
func upstreamIntoADatabase(t *testing.T, image *binary.Dir) {
	if !gltest.Open(t).Info().Software() {
		t.Skip("only Mesa has databases")
	}
	dir := filepath.Join(t.TempDir(), "cache")
	loadInChild(t, machineCodeTask{Dir: dir, First: machineCodePrograms - 1}, withUpstream("", "MESA_DISK_CACHE_MULTI_FILE=0"))
	n := loadInChild(t, machineCodeTask{Dir: dir}, withUpstream(image.Path()))
	if n.Compiles != 0 || n.MachineCodeMisses != 0 || n.UpstreamHits != machineCodePrograms-1 {
		t.Errorf("not warm: %+v", n)
	}
}

// upstreamOfProcessesThatStartTogether starts processes at once in one new place.
func upstreamOfProcessesThatStartTogether(t *testing.T, image *binary.Dir) {
	runtime := t.TempDir()
	done := make(chan binary.Counters)
	const processes = 4
	for range processes {
		go func() {
			done <- loadInChild(t, machineCodeTask{}, withUpstream(image.Path(), "HOME=", "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR="+runtime))
		}()
	}
	shares := gltest.Open(t).Info().Software()
	for range processes {
		n := <-done
		if !shares {
			// Of NVIDIA's processes that run at the same time one reads the slot with the
			// machine code.
			n.MachineCodeMisses = 0
		}
		wantWarm(t, n)
	}
}

// TestReadOnlyChild runs processes for which everything but a tmpfs is read-only. It makes
// no temporary directory of its own: what is mounted ends with the process, and nothing
// below it is ever removed.
func TestReadOnlyChild(t *testing.T) {
	image, root, set := strings.Cut(os.Getenv(readOnlyChild), ":")
	if !set {
		return
	}
	mount := func(source, target, kind string, flags uintptr) {
		if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
			fmt.Println("unavailable:", target, err)
			os.Exit(0)
		}
	}
	// Nothing that is mounted here is to appear elsewhere. In a chroot / may be no mount.
	for above := root; ; above = filepath.Dir(above) {
		if syscall.Mount("none", above, "", syscall.MS_REC|syscall.MS_PRIVATE, "") == nil {
			break
		}
		if above == "/" {
			fmt.Println("unavailable: no private mounts")
			os.Exit(0)
		}
	}
	mount("/", root, "", syscall.MS_BIND|syscall.MS_REC)
	mount("none", root, "", syscall.MS_REC|syscall.MS_PRIVATE)
	mount(image, filepath.Join(root, image), "", syscall.MS_BIND)
	mount("none", filepath.Join(root, image), "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY)
	mount("none", root, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY)
	if err := os.WriteFile(filepath.Join(root, image, "x"), nil, 0o600); err == nil {
		t.Error("the image can be written")
	}
	place := filepath.Join(root, "dev/shm", fmt.Sprintf("shadercache-%d", os.Geteuid()))
	inRoot := func(cmd *exec.Cmd) { cmd.SysProcAttr, cmd.Dir = &syscall.SysProcAttr{Chroot: root}, "/" }
	for name, settings := range map[string][]string{
		"upstream":              {"SHADERCACHE_UPSTREAM=" + image},
		"read-only directory":   {"SHADERCACHE_DIR=" + image},
		"the same for both":     {"SHADERCACHE_DIR=" + image, "SHADERCACHE_UPSTREAM=" + image},
		"a directory elsewhere": {"SHADERCACHE_DIR=/nonexistent/cache", "SHADERCACHE_UPSTREAM=" + image},
	} {
		mount("tmpfs", filepath.Join(root, "dev/shm"), "tmpfs", 0) // a new one over that before
		settings = slices.Concat([]string{"SHADERCACHE_DIR=", "HOME=/nonexistent", "XDG_CACHE_HOME=", "XDG_RUNTIME_DIR="}, settings)
		n := loadInChild(t, machineCodeTask{}, withUpstream("", settings...), inRoot)
		if t.Failed() {
			t.Log(name)
		}
		wantWarm(t, n)
		if len(entryNames(filepath.Join(place, "driver"))) < machineCodePrograms {
			t.Errorf("%s: %s has no machine code", name, place)
		}
	}
	fmt.Println("outcome: tried")
}

// upstreamOnAReadOnlyRoot starts processes on a read-only root with a read-only image, no
// home, and a tmpfs.
func upstreamOnAReadOnlyRoot(t *testing.T, image *binary.Dir) {
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "-test.run=^TestReadOnlyChild$")
	cmd.Env = append(os.Environ(), readOnlyChild+"="+image.Path()+":"+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case cannotMount(err) || strings.Contains(text, "unavailable: "):
		t.Skipf("nothing can be mounted here: %v %s", err, text)
	case err != nil || !strings.Contains(text, "outcome: tried"):
		t.Fatalf("%v\n%s", err, text)
	}
}
