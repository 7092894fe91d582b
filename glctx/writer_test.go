//go:build linux && cgo

package glctx_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// writerChild is the cache directory of a process that compiles three programs and ends
// right after it has closed its context. writerSettles has it settle the driver's cache
// first, and print what is known of the machine code, and writerBlind leaves it no inotify,
// of which a user has 128.
const (
	writerChild   = "GLCTX_TEST_WRITER"
	writerSettles = "GLCTX_TEST_WRITER_SETTLES"
	writerBlind   = "GLCTX_TEST_WRITER_BLIND"
)

// writerCutShort is the status of such a process whose wait took all of its time: the
// machine was too busy to tell whether it waits for the writer.
const writerCutShort = 75

// It runs in place of the tests.
func init() {
	dir := os.Getenv(writerChild)
	if dir == "" {
		return
	}
	if os.Getenv(writerBlind) != "" { // in a user namespace of its own
		if err := os.WriteFile("/proc/sys/user/max_inotify_instances", []byte("0"), 0); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	c, err := glctx.Open(glctx.Options{CacheDir: dir})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var made []shader.Program
	c.Compile(context.Background(), machineCodeSources("")[:3], func(_ int, p shader.Program, err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		made = append(made, p)
	})
	began := time.Now()
	if os.Getenv(writerSettles) == "" {
		_ = c.Close()
	} else {
		c.SettleDriverCache()
	}
	if time.Since(began) > 5*time.Second {
		os.Exit(writerCutShort)
	}
	var entries [][]string
	for _, p := range made {
		list, _ := p.MachineCode()
		entries = append(entries, list)
	}
	_ = json.NewEncoder(os.Stdout).Encode(entries)
	os.Exit(0)
}

// slowWriter compiles the library that makes Mesa's writer slow.
func slowWriter(t *testing.T) string {
	t.Helper()
	library := filepath.Join(t.TempDir(), "slow_writer.so")
	out, err := exec.Command("gcc", "-O1", "-shared", "-fPIC", "-o", library, "testdata/slow_writer.c", "-ldl").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return library
}

// compileInChild returns the directory that such a process compiled into, and its output.
func compileInChild(t *testing.T, environment ...string) (dir string, out []byte) {
	t.Helper()
	for range 10 {
		dir = filepath.Join(t.TempDir(), "cache")
		written, err := runWriter(dir, environment)
		var exit *exec.ExitError
		if err == nil {
			return dir, written
		} else if !errors.As(err, &exit) || exit.ExitCode() != writerCutShort {
			t.Fatalf("%v\n%s", err, written)
		}
	}
	t.Fatal("ten processes waited for the writer in vain")
	return "", nil
}

func runWriter(dir string, environment []string) ([]byte, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "MESA_") || strings.HasPrefix(v, "__GL_SHADER") || strings.HasPrefix(v, "SHADERCACHE_DRIVER_DIR=")
	})
	cmd.Env = append(cmd.Env, append(environment, writerChild+"="+dir)...)
	if slices.Contains(environment, writerBlind+"=1") {
		cmd.SysProcAttr = ownNamespace()
	}
	return cmd.Output()
}

// ownNamespace has a process in a user namespace of its own.
func ownNamespace() *syscall.SysProcAttr {
	own := []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER, UidMappings: own}
}

// Close waits until Mesa has written what it compiled, and SettleDriverCache until it is
// known which program that is of, however slow the writer is.
func TestMesaHasWrittenWhatItCompiled(t *testing.T) {
	t.Parallel()
	if info := gltest.Open(t).Info(); !strings.Contains(info.Driver, "Mesa") {
		t.Skipf("%s writes at once", info.Driver)
	}
	slow := "LD_PRELOAD=" + slowWriter(t)
	items := func(environment ...string) int {
		path, _ := compileInChild(t, environment...)
		dir, err := binary.OpenDir(path)
		if err != nil {
			t.Fatal(err)
		}
		return len(driverItems(dir))
	}
	if want, got := items(), items(slow); got != want || want < 3 {
		t.Errorf("with a slow writer the driver's cache has %d items, should have %d", got, want)
	}
	namespace := exec.Command("true")
	namespace.SysProcAttr = ownNamespace()
	if err := namespace.Run(); errors.Is(err, syscall.EPERM) {
		t.Log("not tested without a watch: no user namespaces in this container:", err)
	} else if want, got := items(), items(slow, writerSettles+"=1", writerBlind+"=1"); got != want {
		t.Errorf("without a watch the driver's cache has %d items once it is settled, should have %d", got, want)
	}
	var entries [][]string
	_, out := compileInChild(t, slow, writerSettles+"=1")
	if err := json.Unmarshal(out, &entries); err != nil || len(entries) != 3 {
		t.Fatalf("%v: %s", err, out)
	}
	for i, list := range entries {
		if len(list) == 0 {
			t.Errorf("no machine code is known of program %d: %v", i, entries)
		}
	}
}
