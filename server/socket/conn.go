//go:build linux

package socket

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/wire"
)

// ErrOtherUser is returned for a peer that runs as another user.
var ErrOtherUser = errors.New("the other side of the socket is another user")

// Conn is a connection that carries frames. One goroutine may read and one may write at
// the same time.
type Conn struct {
	unix     *net.UnixConn
	in       []byte // received; in[from:to] is not taken yet
	from, to int
	oob      []byte
	files    []*os.File // received and not taken
}

const (
	readSize = 64 << 10
	// oobSize has room for the descriptors of one frame: the kernel ends a read behind
	// the bytes that came with descriptors.
	oobFiles = wire.MaxFiles
)

// NewConn returns the connection over a socket, of which the bytes of first, at most those of
// a hello, were read already. It returns ErrOtherUser, wrapped, and closes the socket, where
// the peer has another user id.
func NewConn(u *net.UnixConn, first []byte) (*Conn, error) {
	if err := checkPeer(u); err != nil {
		u.Close()
		return nil, err
	}
	c := &Conn{unix: u, in: make([]byte, readSize), oob: make([]byte, unix.CmsgSpace(4*oobFiles))}
	c.to = copy(c.in, first)
	return c, nil
}

// ReadHello reads the frame of a hello and nothing behind it, so that another process can
// continue, and returns its bytes and its content. Where the first bytes are no hello it
// returns those that it read and an empty one: what continues refuses them.
func ReadHello(u *net.UnixConn) (frame []byte, hello wire.Hello, err error) {
	frame = make([]byte, wire.HeaderSize, wire.MaxHello)
	if _, err := io.ReadFull(u, frame); err != nil {
		return nil, hello, err
	}
	h, err := wire.ParseHeader(frame)
	if err != nil || h.Type != wire.TypeHello || h.Size > wire.MaxHello-wire.HeaderSize {
		return frame, hello, nil
	}
	frame = frame[:wire.HeaderSize+int(h.Size)]
	if _, err := io.ReadFull(u, frame[wire.HeaderSize:]); err != nil {
		return nil, hello, err
	}
	if hello.Decode(frame[wire.HeaderSize:]) != nil {
		hello = wire.Hello{}
	}
	return frame, hello, nil
}

// Dial connects to the server at path, whose directory must be private.
func Dial(ctx context.Context, path string) (*Conn, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if err := checkDir(path); err != nil {
		return nil, err
	}
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	return NewConn(c.(*net.UnixConn), nil)
}

// checkPeer compares the user id of the peer, when it connected or listened, with ours.
func checkPeer(u *net.UnixConn) error {
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	var peer *unix.Ucred
	control := raw.Control(func(fd uintptr) { peer, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) })
	if err := errors.Join(control, err); err != nil {
		return err
	}
	if int(peer.Uid) != os.Getuid() {
		return fmt.Errorf("%w: user %d", ErrOtherUser, peer.Uid)
	}
	return nil
}

// Next reads one frame. The body is valid until the next call. It returns io.EOF where the
// peer closed the connection between two frames, io.ErrUnexpectedEOF within one, and
// wire.ErrMalformed, wrapped, for bytes that are no frame.
func (c *Conn) Next() (h wire.Header, body []byte, err error) {
	if err := c.fill(wire.HeaderSize); err != nil {
		return h, nil, err
	}
	if h, err = wire.ParseHeader(c.in[c.from:c.to]); err != nil {
		return h, nil, err
	}
	size := wire.HeaderSize + int(h.Size)
	if err := c.fill(size); err != nil {
		return h, nil, err
	}
	body = c.in[c.from+wire.HeaderSize : c.from+size : c.from+size]
	c.from += size
	return h, body, nil
}

// HasFrame reports whether Next would return without reading.
func (c *Conn) HasFrame() bool {
	n := c.to - c.from
	return n >= wire.HeaderSize && n-wire.HeaderSize >= int(min(binary.LittleEndian.Uint32(c.in[c.from:]), wire.MaxBody))
}

// fill reads until n bytes are there.
func (c *Conn) fill(n int) error {
	for c.to-c.from < n {
		if c.from > 0 {
			c.to = copy(c.in, c.in[c.from:c.to])
			c.from = 0
		}
		if n > len(c.in) {
			// Grows as the bytes come, so that a header alone allocates little.
			c.in = append(c.in, make([]byte, min(n-len(c.in), max(readSize, c.to)))...)
		}
		if err := c.receive(); err != nil {
			if errors.Is(err, io.EOF) && c.to > 0 {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}

// receive reads what is there, at least one byte.
func (c *Conn) receive() error {
	n, oobn, flags, _, err := c.unix.ReadMsgUnix(c.in[c.to:], c.oob)
	if oobn > 0 {
		if err := c.keepFiles(c.oob[:oobn]); err != nil {
			return err
		}
	}
	switch {
	case err != nil:
		return err
	case n == 0:
		return io.EOF
	case flags&unix.MSG_CTRUNC != 0:
		return fmt.Errorf("%w: more than %d descriptors", wire.ErrMalformed, oobFiles)
	}
	c.to += n
	return nil
}

// keepFiles keeps the descriptors of a control message until TakeFiles.
func (c *Conn) keepFiles(oob []byte) error {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return fmt.Errorf("%w: %w", wire.ErrMalformed, err)
	}
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			continue // of another kind, such as credentials
		}
		for _, fd := range fds {
			_ = unix.SetNonblock(fd, true) // eventfds, for Go's poller; memfds ignore it
			c.files = append(c.files, os.NewFile(uintptr(fd), "received"))
		}
	}
	if len(c.files) > 8*oobFiles {
		return fmt.Errorf("%w: %d descriptors that no frame has", wire.ErrMalformed, len(c.files))
	}
	return nil
}

// TakeFiles returns the descriptors of the frame that Next returned, of type t. The caller
// closes them. It returns wire.ErrMalformed, wrapped, where the frame came with fewer, or
// with more and nothing follows it yet.
func (c *Conn) TakeFiles(t wire.Type) ([]*os.File, error) {
	n := t.Files()
	if len(c.files) < n || len(c.files) > n && c.from == c.to {
		return nil, fmt.Errorf("%w: a frame of type %v with %d descriptors, %d are expected", wire.ErrMalformed, t, len(c.files), n)
	}
	files := c.files[:n:n]
	c.files = c.files[n:]
	return files, nil
}

// Write sends frames, with files as descriptors of the first. It waits while the peer
// does not read, without a limit.
func (c *Conn) Write(frames []byte, files ...*os.File) error {
	if len(files) == 0 {
		_, err := c.unix.Write(frames)
		return err
	}
	fds := make([]int, len(files))
	for i, f := range files {
		raw, err := f.SyscallConn() // not Fd, which would make an eventfd blocking
		if err == nil {
			err = raw.Control(func(fd uintptr) { fds[i] = int(fd) })
		}
		if err != nil {
			return err
		}
	}
	n, _, err := c.unix.WriteMsgUnix(frames, unix.UnixRights(fds...), nil)
	if err == nil && n < len(frames) {
		_, err = c.unix.Write(frames[n:])
	}
	return err
}

// TryWrite sends what the socket takes without waiting and returns how many bytes that
// were.
func (c *Conn) TryWrite(frames []byte) (n int, err error) {
	raw, err := c.unix.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Write(func(fd uintptr) bool {
		n, failed = unix.Write(int(fd), frames)
		return true
	})
	if errors.Is(failed, unix.EAGAIN) || errors.Is(failed, unix.EINTR) {
		failed = nil
	}
	return max(n, 0), errors.Join(err, failed)
}

// WriteWithin is Write without files that waits at most for limit.
func (c *Conn) WriteWithin(frames []byte, limit time.Duration) error {
	if err := c.unix.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	err := c.Write(frames)
	return errors.Join(err, c.unix.SetWriteDeadline(time.Time{}))
}

// Fits reports whether a frame of n bytes can be written at all: always.
func (c *Conn) Fits(int) bool { return true }

// SetReadDeadline makes Next fail after t; the zero time removes the limit.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.unix.SetReadDeadline(t) }

// Close closes the connection. It may be called while other goroutines read and write,
// which then fail.
func (c *Conn) Close() error { return c.unix.Close() }

// CloseFiles closes descriptors that were received and not taken. No Next may run.
func (c *Conn) CloseFiles() {
	for _, f := range c.files {
		f.Close()
	}
	c.files = nil
}
