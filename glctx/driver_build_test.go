//go:build linux && cgo

package glctx_test

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

const (
	buildChildDir    = "GLCTX_TEST_BUILD_CHILD_DIR"
	buildChildKernel = "GLCTX_TEST_BUILD_CHILD_KERNEL" // set: uname says 2.6
)

func TestBuildChild(t *testing.T) {
	dir := os.Getenv(buildChildDir)
	if dir == "" {
		return
	}
	if os.Getenv(buildChildKernel) != "" {
		os.Unsetenv(buildChildKernel)
		t.Fatal(syscall.Exec("/usr/bin/setarch", append([]string{"setarch", "--uname-2.6"}, os.Args...), os.Environ()))
	}
	device, err := glctx.Open(glctx.Options{CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	c, err := cache.New(device, cache.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	h, err := c.Get(context.Background(), shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"}))
	if err != nil {
		t.Fatal(err)
	}
	h.Release()
	stats, f := c.Stats(), device.Fingerprint()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	fmt.Printf("outcome: %s: build %s, of %s, UUID %s, version %s, compiled %d, loaded %d, rejected %d\n",
		device.Info().GPU, f.DriverBuild, f.Digest().Short(), f.DriverUUID, f.Version, stats.Compiles, stats.DiskHits, stats.Rejected)
}

// A driver of the same version from another build is a clean miss: nothing of the first
// build reaches it. Both builds then hit in one directory.
func TestAnotherBuildOfADriverIsAnotherDriver(t *testing.T) {
	build := gltest.Open(t).Fingerprint().DriverBuild
	if !strings.Contains(gltest.Open(t).Info().Driver, "Mesa") {
		if build != "" {
			t.Errorf("a driver that is not Mesa has the build %q", build)
		}
		t.Skip("the driver is not Mesa")
	}
	library := loadedDriver(t)
	id := buildID(t, library)
	if !strings.Contains(build, hex.EncodeToString(id)) { // below zink there is another one
		t.Fatalf("build %q, and %s has the build id %x", build, library, id)
	}
	if !strings.HasSuffix(library, "_dri.so") {
		t.Skip("from Mesa 24.2 on no variable chooses the library of the driver")
	}
	drivers := rebuilt(t, library, id)
	dir := t.TempDir()
	run := func(environment ...string) string {
		return childOf(t, "TestBuildChild", append(environment, buildChildDir+"="+dir)...)
	}
	first := run()
	wantIn(t, first, "compiled 1, loaded 0, rejected 0")
	second := run("LIBGL_DRIVERS_PATH=" + drivers)
	wantIn(t, second, "compiled 1, loaded 0, rejected 0")
	if version := func(s string) string { _, v, _ := strings.Cut(s, "UUID "); return v }; version(first) != version(second) {
		t.Errorf("more than the build differs:\n%s\n%s", first, second)
	}
	if strings.Contains(second, ": build "+build+",") {
		t.Errorf("the other build is not seen: %s", second)
	}
	wantIn(t, run(), "compiled 0, loaded 1, rejected 0")
	wantIn(t, run("LIBGL_DRIVERS_PATH="+drivers), "compiled 0, loaded 1, rejected 0")
}

// llvmpipe refuses binaries of another number of CPUs: that is another driver.
func TestAnotherNumberOfCPUsIsAnotherDriver(t *testing.T) {
	runtime.LockOSThread() // which starts the children
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	if all.Count() == 1 || !strings.HasPrefix(gltest.Open(t).Info().GPU, "llvmpipe") {
		t.Skip("one CPU, or a driver to which they are nothing")
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	dir := t.TempDir()
	for _, want := range []string{"compiled 1, loaded 0, rejected 0", "compiled 0, loaded 1, rejected 0"} {
		for _, cpus := range []unix.CPUSet{all, one} {
			if err := unix.SchedSetaffinity(0, &cpus); err != nil {
				t.Fatal(err)
			}
			got := childOf(t, "TestBuildChild", buildChildDir+"="+dir)
			if err := unix.SchedSetaffinity(0, &all); err != nil {
				t.Fatal(err)
			}
			wantIn(t, got, want)
		}
	}
}

// Another kernel is the same driver, though AMD's has it in its name; another chip is not,
// not even an APU with the same name.
func TestDriverIsTheChipAndNotTheKernel(t *testing.T) {
	if !strings.Contains(gltest.Open(t).Info().GPU, "(radeonsi, ") || os.Getenv(gltest.NoResults) == "" {
		t.Skip("no AMD chip can be chosen: scripts/drivers test radeonsi")
	}
	dir := t.TempDir()
	for _, c := range []struct{ chip, variable, gpu, want string }{
		{"renoir", "", "(radeonsi, renoir, ACO, DRM", "compiled 1, loaded 0, rejected 0"},
		{"renoir", buildChildKernel, ", 2.6.", "compiled 0, loaded 1, rejected 0"},
		{"raven", "", "(radeonsi, raven, ACO, DRM", "compiled 1, loaded 0, rejected 0"},
		{"navi31", "", "(radeonsi, navi31, ", "compiled 1, loaded 0, rejected 0"},
		{"navi10", "", "(radeonsi, navi10, ", "compiled 1, loaded 0, rejected 0"},
		{"navi31", buildChildKernel, ", 2.6.", "compiled 0, loaded 1, rejected 0"},
	} {
		got := childOf(t, "TestBuildChild", buildChildDir+"="+dir, "AMDGPU_GPU_ID="+c.chip, cmp.Or(c.variable, "NOTHING")+"=1")
		wantIn(t, got, c.gpu, c.want)
	}
}

// loadedDriver returns the path of the library of Mesa's driver in this process.
func loadedDriver(t *testing.T) string {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(maps)) {
		_, path, _ := strings.Cut(strings.TrimSpace(line), " /")
		if strings.HasSuffix(path, "_dri.so") || strings.HasPrefix(filepath.Base(path), "libgallium") {
			return "/" + path
		}
	}
	t.Fatal("no library of Mesa's driver is loaded")
	return ""
}

// buildID reads the build id from the file of a library.
func buildID(t *testing.T, library string) []byte {
	t.Helper()
	f, err := elf.Open(library)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	if section == nil {
		t.Skipf("%s has no build id", library)
	}
	note, err := section.Data()
	if err != nil || len(note) <= 16 {
		t.Fatalf("note of %d bytes, %v", len(note), err)
	}
	return note[16:] // three lengths and "GNU\0"
}

// rebuilt returns a folder with a copy of a driver that has another build id, as building
// the same version again gives it.
func rebuilt(t *testing.T, library string, id []byte) (folder string) {
	t.Helper()
	data, err := os.ReadFile(library)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, id)
	if at < 0 {
		t.Fatal("the build id is not in the file")
	}
	data[at] ^= 0xff
	folder = t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, filepath.Base(library)), data, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
