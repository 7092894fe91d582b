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
	"runtime"
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
	in       []byte // received; in[from:to] is not taken yet
	from, to int
	oob      []byte
	files    []int // descriptors that were received and not taken
}

const (
	readSize = 64 << 10
	// oobFiles is the most descriptors of a sendmsg (SCM_MAX_FD), and a read ends behind bytes
	// that came with descriptors. Those without room the kernel would close in the thread that
	// reads, which may take as long as the peer likes: see CloseAll.
	oobFiles = 253
	maxFiles = 8 * wire.MaxFiles // that no frame has taken yet
)

var oobSize = unix.CmsgSpace(4 * oobFiles)

// NewConn returns the connection over a socket, of which the bytes of first, at most those of
// a hello, were read already. It returns ErrOtherUser, wrapped, and closes the socket, where
// the peer has another user id.
func NewConn(u *net.UnixConn, first []byte) (*Conn, error) {
	if err := checkPeer(u); err != nil {
		_ = CloseUnread(u)
		return nil, err
	}
	c := &Conn{unix: u, in: make([]byte, readSize), oob: make([]byte, oobSize)}
	c.to = copy(c.in, first)
	return c, nil
}

// ReadHello reads the frame of a hello and nothing behind it, so that another process can
// continue, and returns its bytes and its content. Where the first bytes are no hello it
// returns those that it read and an empty one: what continues refuses them.
func ReadHello(u *net.UnixConn) (frame []byte, hello wire.Hello, err error) {
	frame = make([]byte, wire.HeaderSize, wire.MaxHello)
	if err := readFull(u, frame); err != nil {
		return nil, hello, err
	}
	h, err := wire.ParseHeader(frame)
	if err != nil || h.Type != wire.TypeHello || h.Size > wire.MaxHello-wire.HeaderSize {
		return frame, hello, nil
	}
	frame = frame[:wire.HeaderSize+int(h.Size)]
	if err := readFull(u, frame[wire.HeaderSize:]); err != nil {
		return nil, hello, err
	}
	if hello.Decode(frame[wire.HeaderSize:]) != nil {
		hello = wire.Hello{}
	}
	return frame, hello, nil
}

// readFull fills b with bytes that come without descriptors.
func readFull(u *net.UnixConn, b []byte) error {
	oob := make([]byte, oobSize)
	for len(b) > 0 {
		n, oobn, _, _, err := u.ReadMsgUnix(b, oob)
		if files, _ := filesIn(oob[:oobn]); len(files) > 0 {
			CloseAll(files)
			return fmt.Errorf("%w: a hello with descriptors", wire.ErrMalformed)
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.EOF
		}
		b = b[n:]
	}
	return nil
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
		return fmt.Errorf("%w: descriptors for which there was no room", wire.ErrMalformed)
	}
	c.to += n
	return nil
}

// keepFiles keeps the descriptors of a control message until TakeFiles.
func (c *Conn) keepFiles(oob []byte) error {
	files, err := filesIn(oob)
	c.files = append(c.files, files...)
	switch {
	case err != nil:
		return err
	case len(files) > wire.MaxFiles:
		return fmt.Errorf("%w: %d descriptors at once", wire.ErrMalformed, len(files))
	case len(c.files) > maxFiles:
		return fmt.Errorf("%w: %d descriptors that no frame has", wire.ErrMalformed, len(c.files))
	}
	return nil
}

// filesIn returns the descriptors in a control message.
func filesIn(oob []byte) (files []int, err error) {
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

// CloseAll closes descriptors of a peer. It does not wait: the last close of a file of a peer's
// file system takes as long as the peer likes, and so would that of a socket that lingers.
func CloseAll(files []int) {
	for _, fd := range files {
		go closeFile(fd)
	}
}

// slowCloses is held while a descriptor is closed that may take long. Each is a thread, of
// which Go ends a process that has 10,000. Those beyond these stay open.
var slowCloses = make(chan struct{}, 64)

func closeFile(fd int) {
	if closesAtOnce(fd) {
		unix.Close(fd)
		return
	}
	slowCloses <- struct{}{}
	defer func() { <-slowCloses }()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer interrupt(unix.Gettid())()
	unix.Close(fd)
}

// interrupt ends what a thread waits for in the kernel, as the close of a socket with SO_LINGER
// does, also of one in the queue of another: by the signal that the runtime has for its own use.
func interrupt(thread int) (end func()) {
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(interruptTime):
				_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
			}
		}
	}()
	return func() { close(done) }
}

const interruptTime = 50 * time.Millisecond

// closesAtOnce reports whether a descriptor is of a memfd, as requests have them.
// It asks no file system of a peer.
func closesAtOnce(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	return err == nil
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

// AwaitEnd waits until the peer has closed its end, and reports whether it has; it does not
// where the read deadline came first. No Next may run.
func (c *Conn) AwaitEnd() bool {
	raw, err := c.unix.SyscallConn()
	if err != nil {
		return false
	}
	return raw.Read(func(fd uintptr) bool {
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

// CloseUnread closes a connection that no other process has. First it takes what the peer has
// sent: the kernel would close descriptors in there within the close of the connection.
func CloseUnread(u *net.UnixConn) error {
	_ = u.CloseRead() // the peer can send no more
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	_ = raw.Control(func(fd uintptr) {
		b, oob := make([]byte, readSize), make([]byte, oobSize)
		for {
			n, oobn, _, _, err := unix.Recvmsg(int(fd), b, oob, unix.MSG_DONTWAIT|unix.MSG_CMSG_CLOEXEC)
			if files, _ := filesIn(oob[:max(oobn, 0)]); len(files) > 0 {
				CloseAll(files)
			}
			if n <= 0 && !errors.Is(err, unix.EINTR) {
				return
			}
		}
	})
	return u.Close()
}

// CloseFiles closes descriptors that were received and not taken. No Next may run.
func (c *Conn) CloseFiles() {
	CloseAll(c.files)
	c.files = nil
}
