//go:build linux

package supervisor_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/supervisor"
)

// TestMessageWithoutADescriptorLeft: a process that can have no more descriptors goes on with a message
// whose file it cannot take.
func TestMessageWithoutADescriptorLeft(t *testing.T) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fds[1])
	link, err := supervisor.OpenLink(uintptr(fds[0]))
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	if err := unix.Sendmsg(fds[1], []byte("session x"), unix.UnixRights(fds[1]), nil, 0); err != nil {
		t.Fatal(err)
	}
	free, err := unix.Dup(fds[1])
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(free)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = uint64(free)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	m, err := link.Receive()
	if failed := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); failed != nil {
		t.Fatal(failed)
	}
	if err != nil || m.Word != "session" || m.File != nil {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestMessagesThatAreTooLong, or have more descriptors than one, are errors: they are not taken in
// part.
func TestMessagesThatAreTooLong(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fd := int(null.Fd())
	for name, c := range map[string]struct {
		bytes int
		files []int
		fails bool
	}{
		"a message":       {100, nil, false},
		"one with a file": {100, []int{fd}, false},
		"one too long":    {64 << 10, nil, true},
		"one with three":  {100, []int{fd, fd, fd}, true},
	} {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		link, err := supervisor.OpenLink(uintptr(fds[0]))
		if err != nil {
			t.Fatal(err)
		}
		var rights []byte
		if c.files != nil {
			rights = unix.UnixRights(c.files...)
		}
		if err := unix.Sendmsg(fds[1], make([]byte, c.bytes), rights, nil, 0); err != nil {
			t.Fatal(err)
		}
		m, err := link.Receive()
		if m.File != nil {
			m.File.Close()
		}
		if (err != nil) != c.fails {
			t.Errorf("%s: %d bytes, %v", name, len(m.Word)+len(m.Text), err)
		}
		unix.Close(fds[1])
		link.Close()
	}
}
