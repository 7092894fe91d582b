package cache_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

const fullDiskEnvironment = "CACHE_TEST_FULL"

func init() {
	inChild[fullDiskEnvironment] = func(args []string) { fmt.Println("result:", onFullDisk(args[0], args[1])) }
}

// onFullDisk runs in a process of its own. With how = "tmpfs" or "trim" it fills a file system
// of 1 MiB that only this process can access; with "limit" no file may have any bytes, which
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
	if how == "trim" {
		return fillAndTrim(dir, fill)
	}
	return fillAndRelease(dir, fill, func() error { return os.Remove(filler) })
}

// fillAndTrim makes more programs than a later cache may keep, which a full volume must not
// hinder from deleting them. It returns what is wrong, or "".
func fillAndTrim(dir string, fill func() error) string {
	work := func(o cache.Options, list []*shader.Source) error {
		o.Dir = dir
		dev := cachetest.NewDevice()
		c, err := cache.New(dev, o)
		if err != nil {
			return err
		}
		for _, src := range list {
			h, err := c.Get(context.Background(), src)
			if err != nil {
				return err
			}
			dev.Use(h.Program(), src.Key())
			h.Release()
		}
		return c.Close()
	}
	err := work(cache.Options{MaxDiskBytes: -1, MaxDiskFiles: -1, MaxDiskAge: -1}, sources(40))
	if err == nil {
		err = fill()
	}
	if err == nil {
		err = work(cache.Options{MaxDiskFiles: 1}, sources(1))
	}
	if err != nil {
		return err.Error()
	}
	d, err := binary.OpenDir(dir)
	if err != nil {
		return err.Error()
	}
	s, err := d.Store(cachetest.NewDevice().Fingerprint())
	if err != nil {
		return err.Error()
	}
	list := slices.Collect(s.ByName())
	total, err := d.Lifetime()
	_, again, errAgain := s.Trim(binary.PruneOptions{MaxFiles: 1})
	if err := errors.Join(err, errAgain); err != nil || len(list) != 1 || again || total.DiskHits != 1 {
		return fmt.Sprintf("%d programs are left, trimmed again: %v, %+v, %v", len(list), again, total, err)
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
	for _, how := range []string{"tmpfs", "trim", "limit"} {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), fullDiskEnvironment+"="+how+" "+t.TempDir())
		if how != "limit" {
			cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		}
		out, err := cmd.CombinedOutput()
		text := strings.TrimSpace(string(out))
		switch {
		case how != "limit" && (cannotMount(err) || strings.Contains(text, "unavailable")):
			t.Logf("no file system of its own can be mounted (%v %s): only the limit is tested", err, text)
		case err != nil || text != "result:":
			t.Errorf("%s: %v\n%s", how, err, text)
		}
	}
}
