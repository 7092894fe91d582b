//go:build linux

package socket

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// ErrOtherUser is returned for a peer that runs as another user.
var ErrOtherUser = errors.New("the other side of the socket is another user")

// Conn is a connection that carries frames. One goroutine may read and one may write at
// the same time.
type Conn struct {
	unix     *net.UnixConn
	raw      syscall.RawConn
	in       []byte // received; in[from:to] is not taken yet
	from, to int
	files    []int // descriptors that were received and not taken
	last     received

	out struct { // the last write without waiting
		frames []byte
		n      int
		err    error
		try    func(fd uintptr) bool // bound once
	}
}

const (
	readSize = 64 << 10
	maxFiles = 8 * wire.MaxFiles // that no frame has taken yet
)

// NewConn returns the connection over a socket, of which the bytes of first, at most those of
// a hello, were read already. It returns ErrOtherUser, wrapped, and closes the socket, where
// the peer has another user id.
func NewConn(u *net.UnixConn, first []byte) (*Conn, error) {
	if err := checkPeer(u); err != nil {
		_ = CloseUnread(u)
		return nil, err
	}
	c, err := newConn(u, readSize)
	if err != nil {
		return nil, errors.Join(err, u.Close())
	}
	c.to = copy(c.in, first)
	return c, nil
}

// newConn returns a connection that reads size bytes ahead, where no frame is larger.
func newConn(u *net.UnixConn, size int) (*Conn, error) {
	raw, err := u.SyscallConn()
	c := &Conn{unix: u, raw: raw, in: make([]byte, size)}
	c.last.oob, c.last.try = make([]byte, unix.CmsgSpace(4*oobFiles)), c.tryReceive
	c.out.try = func(fd uintptr) bool {
		c.out.n, c.out.err = unix.Write(int(fd), c.out.frames)
		return true
	}
	return c, err
}

// ReadHello reads the frame of a hello and nothing behind it, so that another process can
// continue, and returns its bytes and its content. Where the first bytes are no hello it
// returns those that it read and an empty one: what continues refuses them.
func ReadHello(u *net.UnixConn) (frame []byte, hello wire.Hello, err error) {
	c, err := newConn(u, wire.HeaderSize)
	if err != nil {
		return nil, hello, err
	}
	defer c.CloseFiles()
	h, body, err := c.NextHello()
	if err != nil && !errors.Is(err, wire.ErrMalformed) {
		return nil, hello, err
	}
	if len(c.files) > 0 {
		return nil, hello, fmt.Errorf("%w: a hello with descriptors", wire.ErrMalformed)
	}
	if h.Type != wire.TypeHello || wire.Decode(body, &hello) != nil {
		hello = wire.Hello{}
	}
	return c.in[:c.to], hello, nil
}

// ConnOf returns the unix connection of a descriptor, which it closes: the connection has a copy. For nil
// it returns an error.
func ConnOf(f *os.File) (*net.UnixConn, error) {
	if f == nil {
		return nil, errors.New("there is no connection")
	}
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.New("the connection is no unix socket")
	}
	return u, nil
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
	for errors.Is(err, unix.EAGAIN) && ctx.Err() == nil { // its queue is full
		time.Sleep(10 * time.Millisecond)
		c, err = d.DialContext(ctx, "unix", path)
	}
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

// NextHello is Next for the first frame, which is not read where it is larger than a hello can be.
func (c *Conn) NextHello() (h wire.Header, body []byte, err error) {
	if err := c.fillHello(wire.HeaderSize); err != nil {
		return h, nil, err
	}
	if h, err = wire.ParseHeader(c.in[c.from:c.to]); err != nil {
		return h, nil, err
	}
	if h.Size > wire.MaxHello-wire.HeaderSize {
		return h, nil, fmt.Errorf("%w: a hello of %d bytes", wire.ErrMalformed, h.Size)
	}
	if err := c.fillHello(wire.HeaderSize + int(h.Size)); err != nil {
		return h, nil, err
	}
	return c.Next()
}

// fillHello is fill for a hello, which may have come as a lobby gave the connection up.
func (c *Conn) fillHello(n int) error {
	err := c.fill(n)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		_ = c.unix.SetReadDeadline(time.Now().Add(restTime))
		err = c.fill(n)
	}
	return err
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

// TakeFiles returns the descriptors of the frame that Next returned, of type t, for the caller
// to pass to CloseAll. They may be of anything: even to poll one can wait for the peer. It
// returns wire.ErrMalformed, wrapped, where the frame came with fewer, or with more and nothing
// follows it yet.
func (c *Conn) TakeFiles(t wire.Type) ([]int, error) {
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
		raw, err := f.SyscallConn() // not Fd, which would make it blocking for all that have it
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
	c.out.frames, c.out.n, c.out.err = frames, 0, nil
	err = c.raw.Write(c.out.try)
	if n, failed := c.out.n, c.out.err; !errors.Is(failed, unix.EAGAIN) && !errors.Is(failed, unix.EINTR) {
		return max(n, 0), errors.Join(err, failed)
	}
	return 0, err
}

// WriteAll is Write without files, and says what was taken. It tries again each second: the kernel says
// that there is room when most of what it holds is read, which takes a slow reader long.
func (c *Conn) WriteAll(frames []byte, took func(n int)) error {
	for len(frames) > 0 {
		_ = c.unix.SetWriteDeadline(time.Now().Add(time.Second)) // of a closed connection Write says it
		n, err := c.unix.Write(frames[:min(len(frames), readSize)])
		if n > 0 {
			took(n)
		}
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return err
		}
		frames = frames[n:]
	}
	return c.unix.SetWriteDeadline(time.Time{}) // TryWrite has none
}

// Fits reports whether a frame of n bytes can be written at all: always.
func (c *Conn) Fits(int) bool { return true }

// AwaitEnd waits until the peer has closed its end, and reports whether it has; it does not
// where the read deadline came first. No Next may run.
func (c *Conn) AwaitEnd() bool {
	return c.raw.Read(func(fd uintptr) bool {
		state := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		_, err := unix.Poll(state, 0)
		return err == nil && state[0].Revents != 0
	}) == nil
}

// Unix returns the socket, for a [Lobby].
func (c *Conn) Unix() *net.UnixConn { return c.unix }

// SetReadDeadline makes Next fail after t; the zero time removes the limit.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.unix.SetReadDeadline(t) }

// Close closes the connection. It may be called while other goroutines read and write,
// which then fail.
func (c *Conn) Close() error { return CloseUnread(c.unix) }

// CloseFiles closes descriptors that were received and not taken. No Next may run.
func (c *Conn) CloseFiles() {
	CloseAll(c.files)
	c.files = nil
}
