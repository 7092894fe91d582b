//go:build unix

package faultgl

import (
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

//go:embed lib
var sources embed.FS

// libraryVariable names a folder with a library that is compiled already, for machines
// without a compiler.
const libraryVariable = "SHADERCACHE_TEST_FAULT_LIBRARY"

var flags = []string{"-std=gnu11", "-Wall", "-Wextra", "-O1", "-fPIC", "-fvisibility=hidden", "-shared"}

// Library returns the folder of a libEGL.so.1 with faults, for LD_LIBRARY_PATH. It is
// compiled with gcc where no earlier test did.
func Library(t testing.TB) string {
	t.Helper()
	dir, err := library()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Environment returns the variables that give a process a driver with faults, to be
// appended to os.Environ. Processes with the same Environment share what Fault.Once and
// Fault.Source need to remember.
func Environment(t testing.TB, faults ...Fault) []string {
	t.Helper()
	var lines []string
	for _, f := range faults {
		lines = append(lines, f.String())
	}
	path := Library(t)
	if others := os.Getenv("LD_LIBRARY_PATH"); others != "" {
		path += ":" + others
	}
	return []string{
		"LD_LIBRARY_PATH=" + path,
		Variable + "=" + strings.Join(lines, "\n"),
		Variable + "_STATE=" + t.TempDir(),
	}
}

var library = sync.OnceValues(func() (string, error) {
	if dir := os.Getenv(libraryVariable); dir != "" {
		return dir, nil
	}
	work, err := os.MkdirTemp("", "faultgl-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	files, sum, err := unpack(work)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("shadercache-faultgl-%d-%.12x", os.Getuid(), sum))
	if isOwn(dir) {
		return dir, nil
	}
	return dir, compile(work, files, dir)
})

// unpack writes the sources into dir and returns the C files and a sum of all.
func unpack(dir string) (files []string, sum []byte, err error) {
	entries, err := sources.ReadDir("lib")
	h := sha256.New()
	fmt.Fprint(h, flags)
	for _, e := range entries {
		var text []byte
		if text, err = sources.ReadFile("lib/" + e.Name()); err != nil {
			break
		}
		h.Write(text)
		path := filepath.Join(dir, e.Name())
		if err = os.WriteFile(path, text, 0o600); err != nil {
			break
		}
		if filepath.Ext(path) == ".c" {
			files = append(files, path)
		}
	}
	return files, h.Sum(nil), err
}

// isOwn reports whether a folder holds a library that this user put there.
func isOwn(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm() != 0o700 {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	_, err = os.Stat(filepath.Join(dir, "libEGL.so.1"))
	return ok && int(s.Uid) == os.Getuid() && err == nil
}

// compile makes the library in work and moves it to dir whole, where another test may
// have put one meanwhile.
func compile(work string, files []string, dir string) error {
	made := filepath.Join(work, "made")
	if err := os.Mkdir(made, 0o700); err != nil {
		return err
	}
	arguments := append(append([]string{}, flags...), "-o", filepath.Join(made, "libEGL.so.1"))
	arguments = append(append(arguments, files...), "-ldl", "-lpthread")
	if out, err := exec.Command("gcc", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("faultgl: gcc: %w\n%s", err, out)
	}
	err := os.Rename(made, dir)
	if err != nil && isOwn(dir) {
		return nil
	}
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("faultgl: %s is not ours: %w", dir, err)
	}
	return err
}
