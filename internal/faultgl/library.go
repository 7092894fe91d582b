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
	sum, err := unpack(work)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("shadercache-faultgl-%d-%.12x", os.Getuid(), sum))
	if isOwn(dir) {
		return dir, nil
	}
	return dir, compile(work, dir)
})

// unpack writes the sources into dir and returns a sum of all.
func unpack(dir string) (sum []byte, err error) {
	entries, err := sources.ReadDir("lib")
	h := sha256.New()
	for _, e := range entries {
		text, err := sources.ReadFile("lib/" + e.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, e.Name()), text, 0o600)
		}
		if err != nil {
			return nil, err
		}
		h.Write(text)
	}
	return h.Sum(nil), err
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
func compile(work, dir string) error {
	made := filepath.Join(work, "made")
	if err := os.Mkdir(made, 0o700); err != nil {
		return err
	}
	if out, err := exec.Command("sh", filepath.Join(work, "build"), made).CombinedOutput(); err != nil {
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
