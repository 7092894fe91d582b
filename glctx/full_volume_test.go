//go:build linux && cgo

package glctx_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullVolumeChild makes a child process of the test mount a volume at this directory,
// which only it and its children can see.
const fullVolumeChild = "GLCTX_TEST_FULL_VOLUME"

// TestFullVolumeChild runs processes on a volume that is full, and on the same volume
// with room.
func TestFullVolumeChild(t *testing.T) {
	volume := os.Getenv(fullVolumeChild)
	if volume == "" {
		return
	}
	resize := func(options string, flags uintptr) {
		if err := syscall.Mount("tmpfs", volume, "tmpfs", flags, "mode=0700,"+options); err != nil {
			fmt.Println("unavailable:", err)
			os.Exit(0)
		}
	}
	resize("size=16k", 0)
	task := machineCodeTask{Dir: filepath.Join(volume, "cache"), First: machineCodePrograms - 3, Full: true}
	for _, size := range []string{"16k", "64k", "400k", "1400k"} {
		resize("size="+size, syscall.MS_REMOUNT)
		if n := loadInChild(t, task); n.Compiles+n.DiskHits != 3 {
			t.Errorf("%s: %+v", size, n)
		}
	}
	resize("size=8m", syscall.MS_REMOUNT)
	loadInChild(t, task)
	if n := loadInChild(t, task); n.Compiles != 0 || n.DiskHits != 3 || n.MachineCodeMisses != 0 {
		t.Errorf("with room again: %+v", n)
	}
	index, err := filepath.Glob(filepath.Join(task.Dir, "driver", "mesa", "*", "index"))
	for _, path := range index {
		info, statErr := os.Stat(path)
		if err = errors.Join(err, statErr); err != nil {
			t.Fatal(err)
		}
		if stat := info.Sys().(*syscall.Stat_t); stat.Blocks*512 < info.Size() {
			t.Errorf("%s has %d bytes and %d blocks of 512: a hole", path, info.Size(), stat.Blocks)
		}
	}
	fmt.Println("outcome: tried")
}

// TestFullVolume runs real processes on a volume without room. Each computes the right
// results in memory and ends with exit code 0; a process that finds room is warm.
func TestFullVolume(t *testing.T) {
	t.Parallel()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "-test.run=^TestFullVolumeChild$")
	cmd.Env = append(os.Environ(), fullVolumeChild+"="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Getuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	out, err := cmd.CombinedOutput()
	text := string(out)
	switch {
	case cannotMount(err) || strings.Contains(text, "unavailable: "):
		t.Skipf("no volume can be mounted here: %v %s", err, text)
	case err != nil || !strings.Contains(text, "outcome: tried"):
		t.Fatalf("%v\n%s", err, text)
	}
}

// cannotMount reports whether a child was not started because it cannot have mounts of
// its own, as in some containers and in a chroot.
func cannotMount(err error) bool {
	for _, reason := range []error{syscall.EPERM, syscall.EACCES, syscall.EINVAL, syscall.ENOSYS, syscall.ENOSPC} {
		if errors.Is(err, reason) {
			return true
		}
	}
	return false
}
