//go:build linux

package clients_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/socket"
)

func TestMain(m *testing.M) {
	runProgram()
	gltest.Main(m)
}

// strict are the flags under which the C client has no warning.
var strict = []string{"-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror"}

// compile builds a C program of this folder and returns its path.
func compile(dir, compiler, source string, flags ...string) (string, error) {
	program := filepath.Join(dir, strings.ReplaceAll(filepath.Base(source), ".", "_")+"-"+filepath.Base(compiler))
	args := append(append([]string{"-Ic", "-o", program}, flags...), source)
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", compiler, strings.Join(args, " "), err, out)
	}
	return program, nil
}

// checks has the two programs that run steps: check.c with the sanitizers, and check.py.
var checks = sync.OnceValues(func() (map[string][]string, error) {
	dir, err := os.MkdirTemp(os.Getenv("SHADERCACHE_DIR"), "clients") // gltest.Main removes it
	if err != nil {
		return nil, err
	}
	flags := append([]string{"-std=c99", "-D_GNU_SOURCE", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"}, strict...)
	program, err := compile(dir, "gcc", "testdata/check.c", flags...)
	if err != nil {
		return nil, err
	}
	return map[string][]string{"c": {program}, "python": {python(), "testdata/check.py"}}, nil
})

// python returns the interpreter. The system's own is preferred: it has the numpy of its
// package.
func python() string {
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		return "/usr/bin/python3"
	}
	return "python3"
}

// languages runs a test for each client.
func languages(t *testing.T, f func(t *testing.T, language string, check []string)) {
	t.Helper()
	programs, err := checks()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"c", "python"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			f(t, language, programs[language])
		})
	}
}

// run runs a client with arguments and returns the lines that it prints.
func run(t testing.TB, command []string, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], args...)...)
	cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "ASAN_OPTIONS=detect_leaks=1")
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		t.Errorf("%v: %v\n%s%s", cmd.Args, err, out.Bytes(), messages.Bytes())
	}
	if messages.Len() > 0 {
		t.Logf("%q", messages.String())
	}
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// steps runs steps and compares their results: of each step its name and "ok", or the
// name of an error.
func steps(t testing.TB, check []string, path string, want ...string) {
	t.Helper()
	args := []string{path}
	for i, step := range want {
		name, _, found := strings.Cut(step, " ")
		if !found {
			want[i] += " ok"
		}
		args = append(args, name)
	}
	if got := run(t, check, args...); strings.Join(got, ", ") != strings.Join(want, ", ") {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), strings.Join(want, ", "))
	}
}

// serve starts a real server with a GPU of its own, and returns its socket. When the test
// ends it checks that the clients left nothing.
func serve(t testing.TB, o server.Options) string {
	t.Helper()
	gpu, err := shadercache.New(gltest.Open(t), shadercache.Options{
		Cache: cache.Options{MemoryOnly: true}, Executor: executor.Options{SlotBytes: 1 << 20, SlotJobs: 64},
	})
	if err != nil {
		t.Fatal(err)
	}
	path := socketPath(t)
	l, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- server.New(gpu.Context, gpu.Cache, gpu.Executor, o).Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil && !errors.Is(err, server.ErrIdle) {
			t.Errorf("serve: %v", err)
		}
		if err := gpu.Close(); err != nil {
			t.Errorf("programs were left: %v", err)
		}
	})
	return path
}

// socketPath returns a path in a directory of its own. A socket's path has a limit.
func socketPath(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return filepath.Join(dir, "socket")
}
