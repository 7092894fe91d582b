//go:build linux

package socket

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// oobFiles is the most descriptors of a sendmsg (SCM_MAX_FD), and a read ends behind bytes
// that came with descriptors. Those without room the kernel would close in the thread that
// reads, which may take as long as the peer likes: see CloseAll.
const oobFiles = 253

// received is what the last read of a connection returned.
type received struct {
	oob            []byte
	n, oobn, flags int
	err            error
	full           bool               // it was no read: descriptors come, and too many wait to be closed
	reserved       bool               // unclosed counts all that may have come
	try            func(uintptr) bool // tryReceive, bound once
}

// receive reads what is there, at least one byte, and keeps descriptors until TakeFiles. While
// too many descriptors wait to be closed, those that come wait in the socket.
func (c *Conn) receive() error {
	last := &c.last
	for last.full = true; last.full; {
		if err := c.raw.Read(last.try); err != nil {
			return err
		}
		if last.full {
			time.Sleep(time.Millisecond)
		}
	}
	files, err := filesIn(last.oob[:max(last.oobn, 0)])
	switch {
	case err != nil || last.err != nil:
		err = errors.Join(err, last.err)
	case last.n == 0:
		err = io.EOF
	case last.flags&unix.MSG_CTRUNC != 0:
		err = fmt.Errorf("%w: descriptors for which there was no room", wire.ErrMalformed)
	case len(files) > wire.MaxFiles:
		err = fmt.Errorf("%w: %d descriptors at once", wire.ErrMalformed, len(files))
	}
	if err != nil {
		CloseAll(files) // at once: a session takes a while to end
	}
	if last.reserved {
		unclosed.Add(-oobFiles)
	}
	if err != nil {
		return err
	}
	c.to += last.n
	if c.files = append(c.files, files...); len(c.files) > maxFiles {
		return fmt.Errorf("%w: %d descriptors that no frame has", wire.ErrMalformed, len(c.files))
	}
	return nil
}

// tryReceive reads once, and reports whether there was something.
func (c *Conn) tryReceive(fd uintptr) bool {
	into, last := c.in[c.to:], &c.last
	last.full = false
	if last.reserved = unclosed.Add(oobFiles) <= maxUnclosed; !last.reserved {
		unclosed.Add(-oobFiles)
		// Without room for descriptors the flags say that there are some, and a look takes none.
		n, _, flags, _, err := syscall.Recvmsg(int(fd), into, nil, unix.MSG_PEEK|unix.MSG_DONTWAIT)
		if err == nil && flags&unix.MSG_CTRUNC != 0 {
			last.full = true
			return true
		}
		into = into[:max(n, 1)] // what comes meanwhile may have some
	}
	last.n, last.oobn, last.flags, _, last.err = syscall.Recvmsg(int(fd), into, last.oob, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
	again := errors.Is(last.err, unix.EAGAIN) || errors.Is(last.err, unix.EINTR)
	if again && last.reserved {
		unclosed.Add(-oobFiles)
	}
	return !again
}

// filesIn returns the descriptors in a control message.
func filesIn(oob []byte) (files []int, err error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", wire.ErrMalformed, err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // of another kind, such as credentials
		}
		files = append(files, fds...)
	}
	return files, nil
}
