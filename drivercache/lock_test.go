//go:build unix && !aix && !solaris

package drivercache

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

// fillEnvironment makes the test binary a process that fills a directory from another:
// both paths, with a colon between.
const fillEnvironment = "DRIVERCACHE_TEST_FILL"

// heldEnvironment makes the test binary a process that holds a shared lock until it is
// killed.
const heldEnvironment = "DRIVERCACHE_TEST_FOLDER"

// execEnvironment makes it a process that takes a shared lock and calls exec, with a
// program that holds the lock until its input ends.
const execEnvironment = "DRIVERCACHE_TEST_EXEC"

func holdAcrossExecAndExec(folder string) error {
	if state := Manage(folder); !state.Managed {
		return errors.New(state.Reason)
	}
	if err := HoldAcrossExec(); err != nil {
		return err
	}
	return syscall.Exec("/bin/sh", []string{"sh", "-c", "echo held; read line"}, nil)
}

func TestMain(m *testing.M) {
	if folder := os.Getenv(execEnvironment); folder != "" {
		_ = holdAcrossExecAndExec(folder) // returns only when it failed
		os.Exit(1)
	}
	if from := os.Getenv(fillEnvironment); from != "" {
		from, dir, _ := strings.Cut(from, ":")
		Manage(dir)
		_, err := Fill(from, mesa.Folder)
		AwaitRecords(time.Hour)
		if err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if folder := os.Getenv(heldEnvironment); folder != "" {
		if _, err := Share(folder); err != nil {
			os.Exit(1)
		}
		os.Stdout.WriteString("held\n")
		time.Sleep(time.Minute)
		os.Exit(2)
	}
	os.Exit(m.Run())
}

func TestLockConflicts(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "cache", "driver")
	first, second := share(t, folder), share(t, folder)
	wantInUse(t, folder)
	release(t, first)
	release(t, first)
	wantInUse(t, folder)
	release(t, second)

	exclusive, err := TryExclusive(folder)
	if err != nil {
		t.Fatal(err)
	}
	wantInUse(t, folder)
	if _, err := open(folder, false, 0); !errors.Is(err, ErrInUse) {
		t.Errorf("shared beside a merge: %v, want ErrInUse", err)
	}
	release(t, exclusive)
	if files, err := os.ReadDir(filepath.Dir(folder)); len(files) != 1 || err != nil {
		t.Errorf("files %v, %v: want only driver.lock", files, err)
	}
}

// The program after exec holds the lock until it ends.
func TestHoldAcrossExec(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "driver")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), execEnvironment+"="+folder)
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	if err := errors.Join(inErr, outErr, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the program said %q, %v", line, err)
	}
	wantInUse(t, folder)
	_ = in.Close()
	_ = cmd.Wait() // fails: read returns 1 at the end of the input
	exclusive, err := TryExclusive(folder)
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	release(t, exclusive)
}

func TestShareWaitsForAMerge(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "driver")
	synctest.Test(t, func(t *testing.T) {
		exclusive, err := TryExclusive(folder)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Share(folder); !errors.Is(err, ErrInUse) {
			t.Errorf("during a merge that does not end: %v, want ErrInUse", err)
		}
		time.AfterFunc(mergeWait-2*lockPoll, func() { _ = exclusive.Release() })
		release(t, share(t, folder))
	})
}

func TestKilledProcessReleasesItsLock(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "driver")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), heldEnvironment+"="+folder)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("child said %q, %v", line, err)
	}
	wantInUse(t, folder)
	_ = child.Process.Kill()
	_ = child.Wait()
	exclusive, err := TryExclusive(folder)
	if err != nil {
		t.Fatal(err)
	}
	release(t, exclusive)
}

func TestShareInAnImpossibleFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Share(filepath.Join(file, "driver")); err == nil || errors.Is(err, ErrInUse) {
		t.Errorf("got %v, want an error of the file system", err)
	}
}

func share(t testing.TB, folder string) *Lock {
	t.Helper()
	l, err := Share(folder)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func release(t testing.TB, l *Lock) {
	t.Helper()
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func wantInUse(t *testing.T, folder string) {
	t.Helper()
	if _, err := TryExclusive(folder); !errors.Is(err, ErrInUse) {
		t.Errorf("got %v, want ErrInUse", err)
	}
}
