//go:build unix

package pack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
)

const killEnvironment = "BUNDLE_TEST_KILL_AT"

func init() {
	// Imports, and kills itself after the given number of files.
	children["kill"] = func(dir, file string) error {
		at, err := strconv.Atoi(os.Getenv(killEnvironment))
		if err != nil {
			return err
		}
		to, err := binary.OpenDir(dir)
		if err != nil {
			return err
		}
		files := 0
		_, err = ImportFile(file, to, ImportOptions{Trust: true, AnyDriver: true, Progress: func(int64, int64) {
			if files++; files == at {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				time.Sleep(time.Minute)
			}
		}})
		return err
	}
	// Imports, and prints a line after the last file was read.
	children["announce"] = func(dir, file string) error {
		to, err := binary.OpenDir(dir)
		if err != nil {
			return err
		}
		_, err = ImportFile(file, to, ImportOptions{Trust: true, AnyDriver: true, Progress: func(done, total int64) {
			if done == total {
				fmt.Println("read")
			}
		}})
		return err
	}
}

// largerBundle returns a bundle with enough files to be killed between them, and the
// tree of a complete import.
func largerBundle(t *testing.T) (file string, complete map[string]string) {
	t.Helper()
	from := filledDir(t)
	for n := range 60 {
		put(t, from, mesaFingerprint, n+10)
	}
	file = filepath.Join(t.TempDir(), "cache.bundle")
	_, err := exportFile(file, from, ExportOptions{})
	must(t, err)
	to := openDir(t)
	_, err = ImportFile(file, to, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	return file, tree(t, to.Path())
}

// visible returns the tree without staging files, and without the files that a kill
// during a write of the index may leave.
func visible(t *testing.T, d *binary.Dir) map[string]string {
	t.Helper()
	files := tree(t, d.Path())
	maps.DeleteFunc(files, func(name, _ string) bool {
		return strings.HasPrefix(name, stagingName+"/") || strings.HasPrefix(path.Base(name), ".") || path.Base(path.Dir(name)) == "rejected"
	})
	return files
}

func TestKilledWhileReading(t *testing.T) {
	file, complete := largerBundle(t)
	to := openDir(t)
	for _, at := range []string{"1", "5", "40", "69"} {
		child := exec.Command(os.Args[0])
		child.Env = append(childEnv("kill", to.Path(), file), killEnvironment+"="+at)
		if err := child.Run(); err == nil {
			t.Fatalf("file %s: the child was not killed", at)
		}
		if files := visible(t, to); len(files) != 0 {
			t.Errorf("killed at file %s: %d files were installed", at, len(files))
		}
		if _, err := os.Lstat(filepath.Join(to.Path(), stagingName)); err != nil {
			t.Errorf("killed at file %s: nothing was staged, so nothing was tested", at)
		}
	}
	if r, err := to.Verify(false, nil); err != nil || r.Leftovers == 0 {
		t.Errorf("verify sees nothing of the killed imports: %+v, %v", r, err)
	}
	if r, err := to.Prune(binary.PruneOptions{}); err != nil || r.Leftovers == 0 {
		t.Errorf("prune: %+v, %v", r, err)
	}
	wantEmpty(t, to)
	must(t, Recover(to))
	wantEmpty(t, to)
	_, err := ImportFile(file, to, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	if !maps.Equal(tree(t, to.Path()), complete) {
		t.Error("the import after the deaths is not complete")
	}
}

// After a kill at any time, Recover leaves all files or none.
func TestKilledAtAnyTime(t *testing.T) {
	file, complete := largerBundle(t)
	for round := range 12 {
		to := openDir(t)
		child := exec.Command(os.Args[0])
		child.Env = childEnv("announce", to.Path(), file)
		out, err := child.StdoutPipe()
		must(t, err)
		must(t, child.Start())
		_, err = bufio.NewReader(out).ReadString('\n')
		must(t, err)
		time.Sleep(time.Duration(round) * 2 * time.Millisecond)
		_ = child.Process.Kill()
		_ = child.Wait()
		must(t, Recover(to))
		if files := visible(t, to); len(files) != 0 && !maps.Equal(files, complete) {
			t.Errorf("round %d: %d files of %d", round, len(files), len(complete))
		}
	}
}

// TestRecover stops the installation before each of its files, as a kill would, and
// recovers.
func TestRecover(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	whole := openDir(t)
	_, err := Import(bytes.NewReader(data), whole, ImportOptions{Trust: true, AnyDriver: true})
	must(t, err)
	complete := tree(t, whole.Path())
	for stop := range 11 {
		to := openDir(t)
		m := unpackOnly(t, to, data)
		for _, f := range m.Files[:min(stop, len(m.Files))] {
			installFile(t, to, f)
		}
		must(t, Recover(to))
		if got := tree(t, to.Path()); !maps.Equal(got, complete) {
			t.Errorf("stopped at file %d: %d files, want %d, or their bytes differ", stop, len(got), len(complete))
		}
	}
}

// unpackOnly unpacks a bundle without installing it.
func unpackOnly(t *testing.T, to *binary.Dir, data []byte) *Manifest {
	t.Helper()
	var m *Manifest
	must(t, withInstaller(to, func(i *installer) error {
		u := unpacker{
			options: ImportOptions{Trust: true, AnyDriver: true, MaxBytes: defaultMaxBytes},
			root:    i.root,
		}
		if _, err := u.run(bytes.NewReader(data)); err != nil {
			return err
		}
		manifest, err := i.root.ReadFile(path.Join(stagingReady, manifestName))
		if err != nil {
			return err
		}
		m, err = decodeManifest(manifest)
		return err
	}))
	return m
}

// installFile installs one file as install does.
func installFile(t *testing.T, to *binary.Dir, f File) {
	t.Helper()
	must(t, withInstaller(to, func(i *installer) error {
		if f.Kind == Program || f.Kind == Source {
			return i.replaceFile(f)
		}
		_, err := i.linkIfMissing(f.Path)
		return err
	}))
}

// Something else in the place of a complete import is deleted by the next one, which is whole.
func TestImportOverAnotherStaging(t *testing.T) {
	data := exported(t, filledDir(t), ExportOptions{})
	for name, put := range map[string]func(ready string) error{
		"file":               func(ready string) error { return os.WriteFile(ready, nil, 0o600) },
		"FIFO":               func(ready string) error { return syscall.Mkfifo(ready, 0o600) },
		"link":               func(ready string) error { return os.Symlink(t.TempDir(), ready) },
		"folder as manifest": func(ready string) error { return os.MkdirAll(filepath.Join(ready, manifestName, "a"), 0o700) },
		"link as manifest": func(ready string) error {
			return errors.Join(os.Mkdir(ready, 0o700), os.Symlink("/dev/null", filepath.Join(ready, manifestName)))
		},
	} {
		to := openDir(t)
		must(t, os.MkdirAll(filepath.Join(to.Path(), stagingName), 0o700))
		must(t, put(filepath.Join(to.Path(), filepath.FromSlash(stagingReady))))
		r, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
		if _, stays := os.Lstat(filepath.Join(to.Path(), stagingName)); err != nil || r.Programs == 0 || stays == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// A FIFO in the place of a file does not block an import.
func TestImportWithFIFOs(t *testing.T) {
	from := filledDir(t)
	putTuning(t, from, nvidiaFingerprint, "p", 1)
	data := exported(t, from, ExportOptions{})
	for name, fails := range map[string]bool{
		stagingName + ".lock": true, "driver.lock": true, stagingName: false, "cache_stats.json": false,
		nvidiaFingerprint.DirName() + "/" + tuningOf("p"): false,
		nvidiaFingerprint.DirName() + "/index.sum":        false,
		nvidiaFingerprint.DirName() + "/fingerprint.json": false,
		slotFolder + "/shadercache0.toc":                  false,
		mesaFile:                                          false,
	} {
		to := openDir(t)
		path := filepath.Join(to.Path(), filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, syscall.Mkfifo(path, 0o600))
		r, err := Import(bytes.NewReader(data), to, ImportOptions{Trust: true, AnyDriver: true})
		if (err != nil) != fails || err == nil && r.Programs != 3 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// An import to a full disk fails and leaves no files. A limit of the file size
// simulates the disk.
func TestFullDisk(t *testing.T) {
	from := openDir(t)
	writeFile(t, from, mesaFile, bytes.Repeat([]byte("0123456789"), 200_000))
	file := filepath.Join(t.TempDir(), "cache.bundle")
	_, err := exportFile(file, from, ExportOptions{})
	must(t, err)
	to := openDir(t)
	child := exec.Command("sh", "-c", "ulimit -f 100; exec \""+os.Args[0]+"\"")
	child.Env = childEnv("announce", to.Path(), file)
	out, err := child.CombinedOutput()
	if _, failed := errors.AsType[*exec.ExitError](err); !failed || !strings.Contains(string(out), "file too large") {
		t.Errorf("got %v, %s", err, out)
	}
	wantEmpty(t, to)
}
