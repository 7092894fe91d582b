package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/doctor"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// doctorOn runs doctor as cmd and returns its report and its exit code.
func doctorOn(t *testing.T, cmd *exec.Cmd) (doctor.Report, int) {
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
	var r doctor.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		if strings.Contains(messages.String(), "mount:") || strings.Contains(messages.String(), "unshare:") {
			t.Skipf("no volume can be mounted here: %s", messages.String())
		}
		t.Fatalf("%v\n%s", err, messages.String())
	}
	return r, code
}

// commandForAll copies the test binary to a folder where every user may run it.
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

// unprivileged is the user id of nobody.
const unprivileged = 65534

// A directory that its user, who is not root, cannot write is reported with its fix.
func TestDoctorOnAReadOnlyDirectory(t *testing.T) {
	gltest.Open(t)
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	folder, program := commandForAll(t)
	dir := filepath.Join(folder, "cache")
	for _, step := range []error{os.Mkdir(dir, 0o500), os.Chown(dir, unprivileged, unprivileged)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	cmd := exec.Command(program, "doctor", "--json", "--dir", dir)
	cmd.Dir = folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	r, code := doctorOn(t, cmd)
	if code != cli.ExitFailed || r.Good || len(r.Findings) == 0 {
		t.Fatalf("exit code %d, %+v", code, r)
	}
	f := r.Findings[0]
	if f.Check != "directory" || f.Level != doctor.LevelWrong || !strings.Contains(f.Detail, "cannot be written") || f.Fix != "chmod 700 "+dir {
		t.Errorf("%+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("doctor left %v, %v", left, err)
	}
}

// A directory of programs that --dir names, and that cannot be written, is not filled, and
// neither is a private place.
func TestFillAReadOnlyDirectory(t *testing.T) {
	gltest.Open(t)
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	folder, program := commandForAll(t)
	dir, private := filepath.Join(folder, "cache"), filepath.Join(folder, "run")
	fillStore(t, dir, 1)
	if out, err := exec.Command("sh", "-c", fmt.Sprintf("cd %s && mkdir -m 700 run && chown -R %d . && chmod -R a-w cache", folder, unprivileged)).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, args := range [][]string{{"preload", "gemm_small"}, {"preload", "--no-isolate", "gemm_small"}, {"rebuild"}} {
		cmd := exec.Command(program, append(args, "--dir", dir)...)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+private)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != cli.ExitFailed || !strings.Contains(string(out), "cannot be written\nhint: choose another directory with --dir") {
			t.Errorf("%s: exit code %d\n%s", args, code, out)
		}
	}
	if left, err := os.ReadDir(private); err != nil || len(left) > 0 {
		t.Errorf("the private place has %v, %v", left, err)
	}
}

// A directory that root baked into an image, for root alone, is no upstream for
// others: doctor reports the command that fixes it, and it does.
func TestDoctorOnAnUpstreamOfRoots(t *testing.T) {
	gltest.Open(t)
	if os.Getuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	folder, program := commandForAll(t)
	upstream, dir := filepath.Join(folder, "baked"), filepath.Join(folder, "cache")
	fillStore(t, upstream, 3)
	for _, step := range []error{os.Mkdir(dir, 0o700), os.Chown(dir, unprivileged, unprivileged)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	examine := func() doctor.Finding {
		cmd := exec.Command(program, "doctor", "--json", "--dir", dir)
		cmd.Dir = folder
		cmd.Env = append(os.Environ(), "SHADERCACHE_UPSTREAM="+upstream)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
		r, _ := doctorOn(t, cmd)
		for _, f := range r.Findings {
			if f.Check == "upstream" {
				return f
			}
		}
		t.Fatalf("nothing of the upstream directory: %+v", r)
		return doctor.Finding{}
	}
	f := examine()
	fix := strings.Fields(strings.TrimPrefix(f.Fix, "sudo "))
	if f.Level != doctor.LevelWrong || len(fix) != 4 || fix[0] != "chmod" {
		t.Fatalf("%+v", f)
	}
	if out, err := exec.Command(fix[0], fix[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if f := examine(); f.Level != doctor.LevelGood || !strings.Contains(f.Detail, "3 programs") {
		t.Errorf("after the fix: %+v", f)
	}
}

// A volume with less space than a warm workload needs is reported before it is full.
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
	if f.Check != "directory" || f.Level != doctor.LevelWrong || !strings.Contains(f.Detail, "left on its volume") || !strings.Contains(f.Fix, "prune") {
		t.Errorf("%+v", f)
	}
}
