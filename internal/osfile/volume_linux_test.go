package osfile

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A file system that reports no size is not a full one, and one that reports more than there can be
// leaves room to add to it.
func TestFreeBytes(t *testing.T) {
	if free, known := FreeBytes(t.TempDir()); !known || free <= 0 {
		t.Errorf("%d bytes are free, known: %v", free, known)
	}
	if free, known := FreeBytes("/proc"); known {
		t.Errorf("%d bytes are free in /proc", free)
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+strconv.Itoa(math.MaxInt64)); err != nil {
		t.Skip("a volume takes a privilege:", err)
	}
	t.Cleanup(func() { must(t, unix.Unmount(dir, 0)) })
	must(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	if free, known := FreeBytes(dir); !known || free <= 0 || free > math.MaxInt64/2 {
		t.Errorf("%d bytes are free of 8 EiB, known: %v", free, known)
	}
}

// Where the system does not say when it started, any file may be older.
func TestUptimeThatIsNotKnown(t *testing.T) {
	if up := Uptime(); up <= 0 || up == math.MaxInt64 {
		t.Errorf("the system is up for %v", up)
	}
	known := make(chan bool)
	go func() {
		runtime.LockOSThread() // never unlocked: the filter ends with the thread
		filter := []unix.SockFilter{
			{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}, // the number of the call
			{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_SYSINFO, Jf: 1},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(syscall.EPERM)},
			{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		}
		program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
		err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
		if err == nil {
			err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
		}
		if err != nil {
			t.Log("no system call can be refused here:", err)
		}
		known <- err == nil && Uptime() != math.MaxInt64
	}()
	if <-known {
		t.Error("an uptime that cannot be read is known")
	}
}
