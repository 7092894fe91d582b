package cache_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
	return fillAndRelease(dir, func() error {
		f, err := os.Create(filler)
		if err != nil {
			return err
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		return nil
	}, func() error { return os.Remove(filler) })
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
