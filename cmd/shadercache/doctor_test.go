package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/cli"
)

// wantFinding checks the last finding of an examination.
func wantFinding(t *testing.T, r *doctorResult, level, detail, mend string) {
	t.Helper()
	if len(r.Findings) == 0 {
		t.Fatalf("nothing was found, not %q", detail)
	}
	f := r.Findings[len(r.Findings)-1]
	if f.Level != level || !strings.Contains(f.Detail, detail) || !strings.Contains(f.Mend, mend) || r.Good != (level != levelWrong) {
		t.Errorf("found %+v, good %v; want %s, %q, %q", f, r.Good, level, detail, mend)
	}
}

func TestDoctorLooksAtTheVolume(t *testing.T) {
	const elsewhere = "export SHADERCACHE_DIR=elsewhere"
	roomy := unix.Statfs_t{Type: unix.EXT4_SUPER_MAGIC, Bsize: 4096, Bavail: 1 << 20, Files: 1 << 20, Ffree: 1 << 19}
	for name, c := range map[string]struct {
		change       func(v *unix.Statfs_t)
		err          error
		detail, mend string
	}{
		"a disk":     {change: func(*unix.Statfs_t) {}},
		"NFS":        {change: func(v *unix.Statfs_t) { v.Type = unix.NFS_SUPER_MAGIC }, detail: "is on NFS", mend: elsewhere},
		"CIFS":       {change: func(v *unix.Statfs_t) { v.Type = 0xFF534D42 }, detail: "is on CIFS", mend: elsewhere},
		"read-only":  {change: func(v *unix.Statfs_t) { v.Flags |= unix.ST_RDONLY }, detail: "mounted read-only", mend: "SHADERCACHE_UPSTREAM="},
		"full":       {change: func(v *unix.Statfs_t) { v.Bavail = 100 }, detail: "left on its volume", mend: "prune --max-bytes"},
		"no inodes":  {change: func(v *unix.Statfs_t) { v.Ffree = 3 }, detail: "room for 3 files", mend: "prune --max-age"},
		"no inodes?": {change: func(v *unix.Statfs_t) { v.Files, v.Ffree = 0, 0 }}, // btrfs does not count them
		"no answer":  {err: errors.New("no answer"), detail: "no answer", mend: elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			r := &doctorResult{Good: true}
			found := r.examineVolume(func(_ string, v *unix.Statfs_t) error {
				*v = roomy
				if c.change != nil {
					c.change(v)
				}
				return c.err
			}, t.TempDir(), elsewhere)
			if found != (c.detail != "") {
				t.Fatalf("found %v: %+v", found, r.Findings)
			}
			if found {
				wantFinding(t, r, levelWrong, c.detail, c.mend)
			}
		})
	}
}

func TestDoctorExplainsTheDriverCache(t *testing.T) {
	for _, c := range []struct {
		state               drivercache.State
		level, detail, mend string
	}{
		{drivercache.State{Managed: true, Dir: "/c/driver"}, levelGood, "managed in /c/driver", ""},
		{drivercache.State{Reason: "libEGL_mesa.so.0 was loaded before the first context of ours"}, levelWrong, "was loaded before", "unset LD_PRELOAD"},
		{drivercache.State{Reason: "permission denied"}, levelWrong, "permission denied", "export SHADERCACHE_DIR="},
		{drivercache.State{Managed: true, Dir: "/c", Reason: "set by the user: A=1, B=2"}, levelWrong, "set by the user", "unset A B"},
	} {
		r := &doctorResult{Good: true}
		r.examineDriverCache(c.state, true, false)
		wantFinding(t, r, c.level, c.detail, c.mend)
	}
}

func TestDoctorNamesSlotsThatAreLeftAlone(t *testing.T) {
	driver := t.TempDir()
	r := &doctorResult{Good: true}
	if r.examineSlots(driver); len(r.Findings) != 0 {
		t.Fatalf("without a slot: %+v", r.Findings)
	}
	folder := filepath.Join(driver, "nvidia", "GLCache", strings.Repeat("0a", 16), strings.Repeat("0b", 8))
	writeBlobFile(t, filepath.Join(folder, "shadercache1.toc"), []byte("of a driver to come"))
	r.examineSlots(driver)
	wantFinding(t, r, levelWrong, "shadercache1 cannot be merged", filepath.Join(folder, "shadercache1.bin"))
	command := strings.Fields(r.Findings[0].Mend)
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r = &doctorResult{Good: true}
	if r.examineSlots(driver); len(r.Findings) != 0 {
		t.Errorf("after the mend: %+v", r.Findings)
	}
}

// A cache that is filled and never hits is what every other check may miss.
func TestDoctorNoticesThatNothingHits(t *testing.T) {
	for name, c := range map[string]struct {
		counters     binary.Counters
		level        string
		detail, mend string
	}{
		"never hits": {binary.Counters{Compiles: 9}, levelWrong, "9 compiled for 2 programs on disk, and none was ever found", "selftest"},
		"refused":    {binary.Counters{Compiles: 9, DiskHits: 1, Rejected: 8}, levelWrong, "refused 8 binary files and took 1", "selftest"},
		"new":        {binary.Counters{Compiles: 2}, levelNote, "nothing was found on disk so far", "selftest"},
		"well":       {binary.Counters{Compiles: 2, DiskHits: 40}, levelGood, "40 found on disk, 2 compiled", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
			if err != nil {
				t.Fatal(err)
			}
			fillStoreWith(t, dir.Path(), 2, c.counters)
			r := &doctorResult{Good: true}
			r.examineHits(dir)
			wantFinding(t, r, c.level, c.detail, c.mend)
		})
	}
}

// doctorOn runs doctor in a process that prepare changed, and returns what it
// found and its exit code.
func doctorOn(t *testing.T, cmd *exec.Cmd) (doctorResult, int) {
	t.Helper()
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	err := cmd.Run()
	code := 0
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	var r doctorResult
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		if strings.Contains(messages.String(), "mount:") || strings.Contains(messages.String(), "unshare:") {
			t.Skipf("no volume can be mounted here: %s", messages.String())
		}
		t.Fatalf("%v\n%s", err, messages.String())
	}
	return r, code
}

// commandForAll copies the test's program to where every user may run it.
func commandForAll(t *testing.T) (folder, program string) {
	t.Helper()
	folder, err := os.MkdirTemp("", "doctor-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	from, err := os.Open(executable)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	program = filepath.Join(folder, "shadercache")
	to, err := os.OpenFile(program, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
		err = errors.Join(err, to.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return folder, program
}

const nobody = 65534

// A directory that its user cannot write is named, with what mends it, by a
// process that is not root's.
func TestDoctorOnAReadOnlyDirectory(t *testing.T) {
	gltest.Open(t)
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	folder, program := commandForAll(t)
	dir := filepath.Join(folder, "cache")
	for _, step := range []error{os.Mkdir(dir, 0o500), os.Chown(dir, nobody, nobody)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	cmd := exec.Command(program, "doctor", "--json", "--dir", dir)
	cmd.Dir = folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	r, code := doctorOn(t, cmd)
	if code != cli.ExitFailed || r.Good || len(r.Findings) == 0 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	f := r.Findings[0]
	if f.Check != "directory" || f.Level != levelWrong || !strings.Contains(f.Detail, "cannot be written") || f.Mend != "chmod 700 "+dir {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("doctor left %v, %v", left, err)
	}
}

// A directory that root baked into an image, for root alone, is no upstream for
// others: doctor says what mends it, and that does.
func TestDoctorOnAnUpstreamOfRoots(t *testing.T) {
	gltest.Open(t)
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	folder, program := commandForAll(t)
	upstream, dir := filepath.Join(folder, "baked"), filepath.Join(folder, "cache")
	fillStore(t, upstream, 3)
	for _, step := range []error{os.Mkdir(dir, 0o700), os.Chown(dir, nobody, nobody)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	examine := func() finding {
		cmd := exec.Command(program, "doctor", "--json", "--dir", dir)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "SHADERCACHE_UPSTREAM="+upstream)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		r, _ := doctorOn(t, cmd)
		for _, f := range r.Findings {
			if f.Check == "upstream" {
				return f
			}
		}
		t.Fatalf("nothing of the upstream directory: %+v", r)
		return finding{}
	}
	f := examine()
	mend := strings.Fields(strings.TrimPrefix(f.Mend, "sudo "))
	if f.Level != levelWrong || len(mend) != 4 || mend[0] != "chmod" {
		t.Fatalf("%+v", f)
	}
	if out, err := exec.Command(mend[0], mend[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if f := examine(); f.Level != levelGood || !strings.Contains(f.Detail, "3 programs") {
		t.Errorf("after the mend: %+v", f)
	}
}

// A volume with less room than a warm workload needs is named before it is full.
func TestDoctorOnAFullVolume(t *testing.T) {
	gltest.Open(t)
	unshare, err := exec.LookPath("unshare")
	if err != nil {
		t.Skip("no unshare to mount a small volume in")
	}
	folder, program := commandForAll(t)
	dir := filepath.Join(folder, "cache")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(unshare, "--mount", "sh", "-c",
		`mount -t tmpfs -o size=1m,mode=0700 tmpfs "$1" && exec "$0" doctor --json --dir "$1"`, program, dir)
	r, code := doctorOn(t, cmd)
	if code != cli.ExitFailed || len(r.Findings) == 0 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	f := r.Findings[0]
	if f.Check != "directory" || f.Level != levelWrong || !strings.Contains(f.Detail, "left on its volume") || !strings.Contains(f.Mend, "prune") {
		t.Errorf("%+v", f)
	}
}
