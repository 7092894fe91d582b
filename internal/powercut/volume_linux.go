package powercut

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// volumeBytes is the size of a volume: enough for an ext4 journal.
const volumeBytes = 32 << 20

// mountOptions make ext4 keep no order between data and metadata, and write nothing by
// itself for minutes: what a process did not sync is lost by Cut.
const mountOptions = "loop,data=writeback,noauto_da_alloc,commit=300"

// Loss is what a power cut loses.
type Loss uint32

// The values are those of the ioctl EXT4_IOC_SHUTDOWN.
const (
	// Everything loses all that was not synced.
	Everything Loss = 2
	// Data loses data that was not synced and keeps names and sizes: a file that was
	// written and renamed is there, and empty.
	Data Loss = 1
)

// ioctlShutdown is EXT4_IOC_SHUTDOWN, _IOR('X', 125, __u32).
const ioctlShutdown = 0x8004587d

// Volume is an ext4 file system in a file. Only the goroutine of the test uses it, since
// only its thread, and the processes that it starts, see the volume: a copy of the mount
// in a namespace of another process would keep the file system as it was before a cut.
type Volume struct {
	t     testing.TB
	image string
	dir   string
}

// NewVolume makes and mounts a volume until the test ends, and keeps the goroutine on its
// thread. It skips the test where the user may not mount file systems.
func NewVolume(t testing.TB) *Volume {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting a file system to cut its power takes root")
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS)
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, "")
	}
	if err != nil {
		t.Skipf("cannot have mounts of its own: %v", err)
	}
	parent := t.TempDir()
	v := &Volume{t: t, image: filepath.Join(parent, "image"), dir: filepath.Join(parent, "volume")}
	v.must(os.Mkdir(v.dir, 0o700))
	v.must(os.WriteFile(v.image, nil, 0o600))
	v.must(os.Truncate(v.image, volumeBytes))
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", v.image).CombinedOutput(); err != nil {
		t.Skipf("cannot make an ext4 file system: %v: %s", err, out)
	}
	if out, err := v.mount(); err != nil {
		t.Skipf("cannot mount an ext4 file system: %v: %s", err, out)
	}
	t.Cleanup(v.unmount)
	return v
}

// Dir returns the folder where the volume is mounted.
func (v *Volume) Dir() string { return v.dir }

// Cut cuts the power: the volume is mounted again with what had reached the disk. No
// process may have a file of the volume open.
func (v *Volume) Cut(loss Loss) {
	v.t.Helper()
	f, err := os.Open(v.dir)
	v.must(err)
	v.must(unix.IoctlSetPointerInt(int(f.Fd()), ioctlShutdown, int(loss)))
	v.must(f.Close())
	v.unmount()
	v.remount()
}

// Save returns a copy of what has reached the disk. Call it after Cut.
func (v *Volume) Save() []byte {
	v.t.Helper()
	v.unmount()
	data, err := os.ReadFile(v.image)
	v.must(err)
	v.remount()
	return data
}

// Restore makes the volume what it was when Save was called.
func (v *Volume) Restore(saved []byte) {
	v.t.Helper()
	v.unmount()
	v.must(os.WriteFile(v.image, saved, 0o600))
	v.remount()
}

func (v *Volume) mount() ([]byte, error) {
	return exec.Command("mount", "-t", "ext4", "-o", mountOptions, v.image, v.dir).CombinedOutput()
}

func (v *Volume) remount() {
	v.t.Helper()
	if out, err := v.mount(); err != nil {
		v.t.Fatalf("mount: %v: %s", err, out)
	}
}

func (v *Volume) unmount() {
	if out, err := exec.Command("umount", v.dir).CombinedOutput(); err != nil {
		v.t.Errorf("umount: %v: %s", err, out)
	}
}

func (v *Volume) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(fmt.Errorf("powercut: %w", err))
	}
}
