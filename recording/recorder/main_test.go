//go:build linux

package recorder_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/recordtest"
	"github.com/shadercache/shadercache/recording/recorder"
)

var buildDir string // of this test process

func TestMain(m *testing.M) {
	gltest.IsolateEnvironment()
	var err error
	if buildDir, err = os.MkdirTemp("", "linked"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(buildDir)
	os.Exit(code)
}

// strict are the flags under which no compiler has a warning.
var strict = []string{"-Wall", "-Wextra", "-Werror"}

// build is a way to build the library and the programs of testdata.
type build struct {
	name  string
	flags []string
	first string // what has to be preloaded before the library
	env   []string
}

var (
	plain   = build{name: "plain", flags: strict}
	address = build{
		name: "address", flags: append([]string{"-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, strict...),
		first: "libasan.so", env: []string{"ASAN_OPTIONS=exitcode=66", "LSAN_OPTIONS=exitcode=0"},
	}
	thread = build{
		name: "thread", flags: append([]string{"-g", "-O1", "-fsanitize=thread"}, strict...),
		first: "libtsan.so", env: []string{"TSAN_OPTIONS=ignore_noninstrumented_modules=1:history_size=2"},
	}
)

// built has what make has returned for each file.
var built sync.Map

// once calls make for a file, the first time.
func once(t testing.TB, file string, make func(path string) error) string {
	t.Helper()
	path := filepath.Join(buildDir, file)
	result, _ := built.LoadOrStore(file, sync.OnceValue(func() error { return make(path) }))
	if err := result.(func() error)(); err != nil {
		t.Fatal(err)
	}
	return path
}

func (b build) library(t testing.TB) string {
	return once(t, b.name+"-"+recorder.LibraryName, func(path string) error {
		return recorder.Build(context.Background(), "c", "gcc", path, b.flags...)
	})
}

// program compiles a file of testdata.
func (b build) program(t testing.TB, source string, libraries ...string) string {
	name := strings.TrimSuffix(source, ".c") + "-" + b.name + strings.Join(libraries, "")
	return once(t, name, func(path string) error {
		args := append([]string{"-std=gnu11", "-O1", "-o", path, filepath.Join("testdata", source)}, b.flags...)
		args = append(append(args, libraries...), "-ldl", "-pthread")
		if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
			return fmt.Errorf("gcc %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return nil
	})
}

// preload returns the libraries of LD_PRELOAD.
func (b build) preload(t testing.TB) string {
	libraries := []string{b.library(t)}
	if b.first != "" {
		out, err := exec.Command("gcc", "-print-file-name="+b.first).Output()
		if err != nil {
			t.Fatal(err)
		}
		path, err := filepath.EvalSymlinks(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		libraries = append([]string{path}, libraries...)
	}
	return strings.Join(libraries, ":")
}

// command is a program that records to a folder.
func (b build) command(t testing.TB, folder string, args ...string) *exec.Cmd {
	requireGL(t)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), recorder.FolderVariable+"="+folder, "LD_PRELOAD="+b.preload(t),
		"MESA_SHADER_CACHE_DISABLE=true", "MODULE=testdata/constant.spv")
	cmd.Env = append(cmd.Env, b.env...)
	return cmd
}

// run runs a program to its end, and returns what it printed.
func run(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.Bytes())
	}
	return string(out) + stderr.String()
}

func read(t testing.TB, folder string) recordtest.Recording {
	t.Helper()
	r, err := recordtest.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(folder, "v1", "tmp", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left in tmp, %v", left, err)
	}
	return r
}

// requireGL skips a test where there is no driver.
func requireGL(t testing.TB) { gltest.Open(t) }
