//go:build unix

package recording

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// A bad file costs its program, and nothing outside of the recording is read.
func TestABadFileCostsOneProgram(t *testing.T) {
	programs := []*Program{compute(0), compute(1), compute(2), compute(3), compute(4)}
	r := create(t, programs...)
	file := func(n int) string {
		return filepath.Join(r.Path(), filepath.FromSlash(programName(programs[n].Digest())))
	}
	data := programs[1].Encode()
	data[len(data)-2] ^= 1
	outside := filepath.Join(t.TempDir(), "outside.bin")
	for path, content := range map[string][]byte{file(1): data, outside: programs[2].Encode(), filepath.Join(filepath.Dir(file(0)), "notes.bin"): nil} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{os.Remove(file(2)), os.Symlink(outside, file(2)), os.Remove(file(3)), syscall.Mkfifo(file(3), 0o600),
		os.Truncate(file(4), maxFileBytes+1)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	digests, err := r.Digests()
	if err != nil || len(digests) != len(programs) {
		t.Fatal(digests, err)
	}
	for n, reason := range []string{"", "does not have the digest", "not a regular file", "not a regular file", "at most"} {
		p, err := r.Program(programs[n].Digest())
		if (reason == "") != (err == nil) || err != nil && !(errors.Is(err, ErrDamaged) && strings.Contains(err.Error(), reason)) {
			t.Errorf("program %d: %v, %v", n, p, err)
		}
	}
	if _, err := r.Program(shader.Digest{9}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	to := create(t)
	m, err := to.Merge(r, nil)
	if err != nil || m.Programs != 1 || len(m.Damaged) != 4 {
		t.Errorf("%+v, %v", m, err)
	}
}

// What is added goes nowhere else, where a folder of the recording is a link.
func TestNothingIsWrittenOutsideOfARecording(t *testing.T) {
	from := create(t, compute(0))
	for _, folder := range []string{"v1", processesFolder, filepath.Dir(programName(compute(0).Digest()))} {
		to, outside := create(t), t.TempDir()
		path := filepath.Join(to.Path(), filepath.FromSlash(folder))
		if err := errors.Join(os.RemoveAll(path), os.Symlink(outside, path)); err != nil {
			t.Fatal(err)
		}
		_, err := to.Merge(from, nil)
		if left, _ := os.ReadDir(outside); err == nil || len(left) > 0 {
			t.Errorf("%s is a link: %v, %d files outside", folder, err, len(left))
		}
	}
}

// Whatever is in the place of a folder, no reader waits for it, and the other programs are read.
func TestNoReaderWaitsForAFolder(t *testing.T) {
	elsewhere := t.TempDir()
	for kind, put := range map[string]func(path string) error{
		"FIFO":        func(path string) error { return syscall.Mkfifo(path, 0o600) },
		"file":        func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"folder":      func(path string) error { return os.Mkdir(path, 0o700) },
		"link out":    func(path string) error { return os.Symlink(elsewhere, path) },
		"link around": func(path string) error { return os.Symlink(".", path) },
	} {
		for _, name := range []string{processesFolder, programsFolder + "/zz", programsFolder + "/a[", processesFolder + "/z" + processExt} {
			r := create(t, compute(0), compute(1))
			path := filepath.Join(r.Path(), filepath.FromSlash(name))
			if err := errors.Join(os.RemoveAll(path), put(path)); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() {
				list, err := r.Digests()
				if len(list) != 2 {
					err = errors.Join(err, errors.New("a program is missing"))
				}
				r.Logs()
				_, missingErr := r.Missing(r)
				m, mergeErr := create(t).Merge(r, nil)
				if m.Programs != 2 {
					err = errors.Join(err, errors.New("a program was not merged"))
				}
				if name == processesFolder && kind != "folder" && kind != "link around" { // no log is lost without a word
					if mergeErr == nil {
						err = errors.Join(err, errors.New("the merge lost the logs"))
					}
					mergeErr = nil
				}
				done <- errors.Join(err, missingErr, mergeErr)
			}()
			select {
			case err := <-done:
				if err != nil {
					t.Errorf("%s in the place of %s: %v", kind, name, err)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s in the place of %s: a reader waits", kind, name)
			}
		}
	}
}

// Programs in a folder that cannot be read are not missing: it is an error, and no shorter list.
func TestAFolderThatCannotBeReadIsAnError(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	shard := filepath.Dir(filepath.FromSlash(programName(compute(0).Digest())))
	for kind, spoil := range map[string]func(path string) error{
		"no permission": func(path string) error { return os.Chmod(path, 0) },
		"link out": func(path string) error {
			return errors.Join(os.RemoveAll(elsewhere), os.Rename(path, elsewhere), os.Symlink(elsewhere, path))
		},
		"FIFO": func(path string) error { return errors.Join(os.RemoveAll(path), syscall.Mkfifo(path, 0o600)) },
	} {
		for _, name := range []string{shard, filepath.FromSlash(programsFolder)} {
			r := create(t, compute(0), compute(1))
			path := filepath.Join(r.Path(), name)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			if _, err := os.ReadDir(path); err == nil && kind == "no permission" {
				continue // the superuser may read it
			}
			list, err := r.Digests()
			_, mergeErr := create(t).Merge(r, nil)
			_, missingErr := r.Missing(create(t))
			if err == nil || mergeErr == nil || missingErr == nil {
				t.Errorf("%s: %s: %d programs, %v, %v, %v", kind, name, len(list), err, mergeErr, missingErr)
			}
			_ = os.Chmod(path, 0o700) // for the end of the test
		}
	}
}

// A file that becomes a FIFO after it was looked at: one without a writer, and one with a
// writer that writes nothing.
func TestAFileThatBecomesAFIFOIsNotWaitedFor(t *testing.T) {
	r := create(t, compute(0))
	path := filepath.Join(r.Path(), filepath.FromSlash(programName(compute(0).Digest())))
	file, fifo, silent, next := path+".file", path+".fifo", path+".silent", path+".next"
	if err := errors.Join(os.Link(path, file), syscall.Mkfifo(fifo, 0o600), syscall.Mkfifo(silent, 0o600)); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(silent, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_, _ = os.Link([]string{fifo, file, silent, file}[i%4], next), os.Rename(next, path) // of two names of one file it would be none
			}
		}
	}()
	read := make(chan bool)
	go func() {
		defer close(read)
		for range 2000 {
			if _, err := r.Program(compute(0).Digest()); err != nil && !errors.Is(err, ErrDamaged) {
				t.Error(err)
			}
		}
	}()
	select {
	case <-read:
	case <-time.After(30 * time.Second):
		t.Fatal("a reader waits")
	}
	close(stop)
	<-done
}

// The name of a log is one of a recorder, or it is left out.
func TestNamesOfLogs(t *testing.T) {
	from, to := create(t, compute(0)), create(t)
	log, err := os.ReadFile(filepath.Join(from.Path(), processesFolder, "100-1"+processExt))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a name", "\x1b[31m", strings.Repeat("n", longestLogName+1)} {
		if err := os.WriteFile(filepath.Join(from.Path(), processesFolder, name+processExt), log, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := to.Merge(from, nil)
	if err != nil || len(m.Damaged) != 3 || m.Processes != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}
