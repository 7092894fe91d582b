//go:build linux

package socket_test

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/socket"
)

// bound binds a socket at path without a lock, as another program does.
func bound(t *testing.T, path string, kind int, listens bool) (fd int) {
	t.Helper()
	fd, err := unix.Socket(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil && listens {
		err = unix.Listen(fd, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fd
}

// TestWhatIsAtThePath listens where something is already: a live socket stays, whoever has it, and
// a dead one is replaced where it is ours.
func TestWhatIsAtThePath(t *testing.T) {
	for name, c := range map[string]struct {
		make func(path string, fd func(int))
		says string // in the error; empty: it is replaced
	}{
		"nothing":          {func(string, func(int)) {}, ""},
		"a dead socket":    {func(path string, _ func(int)) { unix.Close(bound(t, path, unix.SOCK_STREAM, true)) }, ""},
		"one that listens": {func(path string, keep func(int)) { keep(bound(t, path, unix.SOCK_STREAM, true)) }, "a server runs already, or another program"},
		"one of datagrams": {func(path string, keep func(int)) { keep(bound(t, path, unix.SOCK_DGRAM, false)) }, "a server runs already, or another program"},
		"one of packets":   {func(path string, keep func(int)) { keep(bound(t, path, unix.SOCK_SEQPACKET, true)) }, "a server runs already, or another program"},
		"one with full queue": {func(path string, keep func(int)) {
			keep(bound(t, path, unix.SOCK_STREAM, true))
			fillQueue(t, path, keep)
		}, "a server runs already, or another program"},
		"another user's": {func(path string, _ func(int)) { unix.Close(bound(t, path, unix.SOCK_STREAM, true)); giveAway(t, path) }, "belongs to user 65534"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(privateDir(t), "socket")
			c.make(path, func(fd int) { t.Cleanup(func() { unix.Close(fd) }) })
			before, _ := os.Lstat(path)
			l, err := socket.Listen(path)
			if l != nil {
				defer l.Close()
			}
			after, _ := os.Lstat(path)
			if c.says == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.says) || !os.SameFile(before, after) {
				t.Errorf("listen: %v; the socket is there: %t", err, os.SameFile(before, after))
			}
		})
	}
}

// fillQueue connects until the queue of a socket is full.
func fillQueue(t *testing.T, path string, keep func(int)) {
	t.Helper()
	for {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		keep(fd)
		if err = unix.Connect(fd, &unix.SockaddrUnix{Name: path}); errors.Is(err, unix.EAGAIN) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func giveAway(t *testing.T, path string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	if err := os.Lchown(path, 65534, -1); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsInherited takes only a stream socket that listens: a worker that cannot accept ends,
// and the next one starts.
func TestWhatIsInherited(t *testing.T) {
	for name, c := range map[string]struct {
		typ     int
		listens bool
		says    string // in the error; empty: it is taken
	}{
		"one that listens":  {unix.SOCK_STREAM, true, ""},
		"one that is bound": {unix.SOCK_STREAM, false, "network unix, is no unix stream socket that listens"},
		"one of packets":    {unix.SOCK_SEQPACKET, true, "network unixpacket"},
		"one of datagrams":  {unix.SOCK_DGRAM, false, "network unixgram"},
	} {
		path := filepath.Join(privateDir(t), "socket")
		l, err := socket.FromFile(os.NewFile(uintptr(bound(t, path, c.typ, c.listens)), path))
		if l != nil {
			l.Close()
		}
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A child has the open files of its parent until its exec.
func TestListenAgainBesideAStart(t *testing.T) {
	path, done := filepath.Join(privateDir(t), "socket"), make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			_ = exec.Command("true").Run()
		}
	}()
	for starting := true; starting; {
		select {
		case <-done:
			starting = false
		default:
		}
		l, err := socket.Listen(path)
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
}

// TestCloseLeavesTheSocketOfAnother has the files of a listener removed, as by what cleans /tmp,
// and another one made there: the end of the first is not that of the second.
func TestCloseLeavesTheSocketOfAnother(t *testing.T) {
	path := filepath.Join(privateDir(t), "socket")
	first, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Remove(path), os.Remove(path+".lock")); err != nil {
		t.Fatal(err)
	}
	second, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal("the socket of the second is gone: ", err)
	}
	c.Close()
}
