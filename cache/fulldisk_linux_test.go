package cache_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
)

const fullDiskEnvironment = "CACHE_TEST_FULL"

func init() {
	inChild[fullDiskEnvironment] = func(args []string) { fmt.Println("result:", onFullDisk(args[0], args[1])) }
}

// onFullDisk runs in a process of its own. With how = "tmpfs" it fills a file system of
// 1 MiB that only this process can access; with "limit" no file may have any bytes, which
// needs no privilege.
func onFullDisk(how, dir string) string {
	if how == "limit" {
		signal.Ignore(syscall.SIGXFSZ)
		var old syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			return err.Error()
		}
		return fillAndRelease(dir, func() error {
			return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 0, Max: old.Max})
		}, func() error { return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old) })
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m,mode=0700"); err != nil {
		return "unavailable: " + err.Error()
	}
	filler := filepath.Join(dir, "filler")
	fill := func() error {
		f, err := os.Create(filler)
		if err != nil {
			return err
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		return nil
	}
	return cmp.Or(fillAndRelease(dir, fill, func() error { return os.Remove(filler) }), trimFull(dir, fill))
}

// trimFull enforces a limit where nothing can be written, which is two days after it was enforced.
// It returns what is wrong, or "".
func trimFull(dir string, fill func() error) string {
	c, err := cache.New(cachetest.NewDevice(), cache.Options{Dir: dir, MaxDiskBytes: 1})
	if err != nil {
		return err.Error()
	}
	last, err := json.Marshal(time.Now().Add(-48 * time.Hour))
	if err := errors.Join(err, os.WriteFile(filepath.Join(dir, "last_trim"), last, 0o600), fill()); err != nil {
		return err.Error()
	}
	h, err := c.Get(context.Background(), source("before"))
	if err != nil {
		return err.Error()
	}
	h.Release()
	flushErr := c.Flush()
	kept, _ := filepath.Glob(filepath.Join(dir, "*", "blobs", "*", "*"))
	now, err := os.ReadFile(filepath.Join(dir, "last_trim"))
	if flushErr != nil || len(kept) > 0 || bytes.Equal(now, last) {
		return fmt.Sprintf("Flush: %v, programs: %q, trimmed at %s, %v", flushErr, kept, now, err)
	}
	return ""
}

// cannotMount reports whether the child was not started because it cannot have mounts of
// its own: EPERM in an unprivileged container, EINVAL in a chroot whose root is not a
// mount point, ENOSYS or ENOSPC where the kernel has or allows no namespaces.
func cannotMount(err error) bool {
	for _, reason := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}

func TestFullDisk(t *testing.T) {
	program, err := os.Executable()
	must(t, err)
	for _, how := range []string{"tmpfs", "limit"} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fullDiskEnvironment+"="+how+" "+t.TempDir())
		if how == "tmpfs" {
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		}
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		switch {
		case how == "tmpfs" && (cannotMount(err) || strings.Contains(text, "unavailable")):
			t.Logf("no file system of its own can be mounted (%v %s): only the limit is tested", err, text)
		case err != nil || text != "result:":
			t.Errorf("%s: %v\n%s", how, err, text)
		}
	}
}
