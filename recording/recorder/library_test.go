//go:build linux

package recorder_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/recording/recorder"
)

// Neither compiler warns.
func TestNoCompilerWarns(t *testing.T) {
	t.Parallel()
	for _, compiler := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(compiler); err != nil && compiler == "clang" {
			continue
		}
		flags := append([]string{"-O0"}, strict...)
		if err := recorder.Build(t.Context(), "c", compiler, filepath.Join(t.TempDir(), recorder.LibraryName), flags...); err != nil {
			t.Error(err)
		}
	}
}

// A library that is installed with the executable is found without a compiler. The test runs a
// copy of itself from a prefix.
func TestTheInstalledLibraryIsFound(t *testing.T) {
	const variable = "SHADERCACHE_TEST_INSTALLED"
	if os.Getenv(variable) != "" {
		fmt.Println(recorder.Library(t.Context(), nil))
		return
	}
	t.Parallel()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"bin", "lib/shadercache"} {
		prefix := t.TempDir()
		program, library := filepath.Join(prefix, "bin", "program"), filepath.Join(prefix, folder, recorder.LibraryName)
		for _, err := range []error{
			os.MkdirAll(filepath.Dir(program), 0o755), os.WriteFile(program, self, 0o755),
			os.MkdirAll(filepath.Dir(library), 0o755), os.WriteFile(library, nil, 0o644),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		run := exec.Command(program, "-test.run", "^TestTheInstalledLibraryIsFound$")
		run.Env = []string{"PATH=", "HOME=" + prefix, variable + "=1", "TMPDIR=" + prefix}
		if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), library+" <nil>\n") {
			t.Errorf("in %s: %v\n%s", folder, err, out)
		}
	}
}

// The library is compiled by the first call, and found by the next, also without a compiler.
func TestTheLibraryIsCompiledOnce(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	told := 0
	compiling := func(string) { told++ }
	first, err := recorder.Library(t.Context(), compiling)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	if second, err := recorder.Library(t.Context(), compiling); err != nil || second != first {
		t.Errorf("%s and %s, %v", first, second, err)
	}
	if told != 1 {
		t.Errorf("told %d times that it is compiled", told)
	}
	left, err := os.ReadDir(filepath.Dir(first))
	if err != nil || len(left) != 1 {
		t.Errorf("%v is beside the library, %v", left, err)
	}
	if err := os.Chmod(first, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := recorder.Library(t.Context(), compiling); !errors.Is(err, recorder.ErrNoLibrary) {
		t.Errorf("a library that others can write to, and no compiler: %v", err)
	}
}

// Where another user can put a library in its place, it would run in all recorded programs.
func TestALibraryThatOthersCanReplaceIsRefused(t *testing.T) {
	shared := filepath.Join(t.TempDir(), "shared")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o777)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", shared)
	if path, err := recorder.Library(t.Context(), nil); !errors.Is(err, recorder.ErrNoLibrary) {
		t.Errorf("%s, %v", path, err)
	}
}

func TestFoldersOfOthersAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := recorder.MakeFolder(filepath.Join(dir, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	if err := os.Chmod(folder, 0o770); err != nil {
		t.Fatal(err)
	}
	if _, err := recorder.MakeFolder(folder); !errors.Is(err, recorder.ErrFolder) {
		t.Errorf("a folder that others can write to: %v", err)
	}
	if err := errors.Join(os.Chmod(folder, 0o700), os.Chown(folder, os.Geteuid()+12345, -1)); err == nil { // as root
		if _, err := recorder.MakeFolder(folder); !errors.Is(err, recorder.ErrFolder) {
			t.Errorf("a folder of another user: %v", err)
		}
	}
	if err := recorder.SetEnvironment("/a b/library.so", folder); !errors.Is(err, recorder.ErrNoLibrary) {
		t.Errorf("a path with a space: %v", err)
	}
}
