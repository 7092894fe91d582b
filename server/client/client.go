//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/semaphore"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Options configure [Dial]. The zero value connects to the user's default server.
type Options struct {
	// Path is the server's socket. Default: $SHADERCACHE_SERVER if it is a path, else
	// "shadercache/socket" in $XDG_RUNTIME_DIR, else in a directory below /tmp.
	Path string

	// Ring is the size of a ring in shared memory, a power of 2 from 4 KiB to 1 MiB, by
	// which requests and replies go then, as far as they fit. It saves the system calls of
	// a round trip where both sides have 4 CPUs: reading it spins for up to 200 us before it
	// sleeps. With fewer nothing spins, and the socket is faster. A job or copy that does not fit
	// waits until those before it are done, and holds up cancels: the order counts, and the
	// socket has none with the ring. Default: 0, the socket alone.
	Ring int

	// Name appears in the server's status. Default: the name of the executable.
	Name string

	// Device is the device of the server that the session is for: its number in the server,
	// from 0, or its UUID, as shadercache devices prints it. Dial returns job.ErrNotFound where
	// no such device serves. Default: the device with the fewest sessions.
	Device string

	// Near is the name of a buffer: without Device, the session is on the device that has it,
	// where there is one. A named buffer is on one device; sessions of another one get
	// ErrOtherDevice for its name. Default: none.
	Near string
}

var _ job.Device = (*Client)(nil)

// Client is a session with a server: a job.Device. Close ends it.
type Client struct {
	conn     *socket.Conn
	options  Options
	welcome  Welcome
	slots    *semaphore.Weighted // unanswered jobs that the server allows
	backlog  *semaphore.Weighted // bytes of unanswered requests, less than a server reads ahead: it reads all cancels
	staging  staging
	memories memories

	ring    atomic.Pointer[clientRing] // nil: none. It goes while sending and ring.taking are held
	sending chan struct{}              // has a token while a frame is written

	mu struct {
		sync.Mutex
		calls    map[uint64]*call
		fewer    *sync.Cond // signalled with each that is answered, and at the end
		request  uint64
		ids      [wire.KindTexture + 1]uint32 // the last one of each kind
		ended    error                        // why the session ended; nil: it has not
		inRing   int                          // unanswered requests by the ring that are ordered
		inSocket int                          // and by the socket
		replies  uint64                       // that have come, and wakes
		later    []func()                     // see startLater
		check    *time.Timer                  // runs checkAnswers; nil: no request was sent yet
		checkAt  time.Time                    // when; zero: it does not
	}
	done chan struct{} // closed when the reader has ended

}

// Welcome is what a server tells a new session.
type Welcome struct {
	Session     uint64
	Generation  uint64 // of the server's worker process: 1, and 1 more after each restart
	Server      string // version
	Device      string // as OpenGL names it
	Label       string // of the driver
	Fingerprint [32]byte
	Limits      wire.Limits
	ZeroCopy    bool   // jobs use operands in a Memory in place: see Memory
	Ended       string // why the worker before this one ended
	Number      int    // of the session's device in the server, from 0
	Devices     int    // that the server has
	UUID        string // of the device, 32 hexadecimal digits; "" where the driver has none
	Jobs        job.Limits
}

// Dial connects to a server. It returns job.ErrNoServer where none listens, ErrVersion,
// job.ErrQuota, ErrDraining, or the error of an unsafe directory, wrapped. A server whose
// worker starts, or starts again, answers when it is ready; ctx limits that time.
func Dial(ctx context.Context, o Options) (*Client, error) {
	if o.Path == "" {
		path, err := socket.DefaultPath()
		if errors.Is(err, socket.ErrOff) {
			err = fmt.Errorf("%w: %w", job.ErrNoServer, err)
		}
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		o.Path = path
	}
	if o.Name == "" && len(os.Args) > 0 {
		o.Name = os.Args[0]
	}
	c, err := dial(ctx, o)
	for start := time.Now(); errors.Is(err, errNoWorker) && time.Since(start) < restartTime && ctx.Err() == nil; c, err = dial(ctx, o) {
		time.Sleep(restartDelay)
	}
	if err != nil {
		return nil, fmt.Errorf("client: connect to %s: %w", o.Path, err)
	}
	return c, nil
}

// errNoWorker is returned when a worker ended before it welcomed the client.
var errNoWorker = errors.New("the server's worker ended")

const (
	restartTime  = 5 * time.Second // after which a server that does not welcome clients counts as gone
	restartDelay = 20 * time.Millisecond
)

func dial(ctx context.Context, o Options) (*Client, error) {
	conn, err := socket.Dial(ctx, o.Path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
		return nil, fmt.Errorf("%w: %w", job.ErrNoServer, err)
	}
	if err != nil {
		return nil, err
	}
	c := &Client{conn: conn, options: o, backlog: semaphore.NewWeighted(wire.MaxBacklog * 3 / 4), sending: make(chan struct{}, 1), done: make(chan struct{})}
	c.mu.calls, c.mu.fewer = map[uint64]*call{}, sync.NewCond(&c.mu.Mutex)
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	err = c.hello(&o)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		conn.Close()
		conn.CloseFiles()
		return nil, err
	}
	c.slots = semaphore.NewWeighted(int64(max(1, c.welcome.Limits.Jobs)))
	go c.read()
	if o.Ring != 0 {
		if err := c.openRing(ctx, o.Ring); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

// hello opens the session.
func (c *Client) hello(o *Options) error {
	if err := errors.Join(checkName(o.Device), checkName(o.Near)); err != nil {
		return err
	}
	frame, err := wire.AppendFrame(nil, wire.TypeHello, 1, &wire.Hello{
		Oldest: wire.Version, Newest: wire.Version, Client: []byte(label(o.Name)), Device: []byte(o.Device), Near: []byte(o.Near),
	})
	if err != nil {
		return err
	}
	// A server that refuses the session may have closed it before the hello is written.
	writeError := c.conn.Write(frame)
	h, body, err := c.conn.Next()
	if err != nil {
		return errors.Join(ErrServerGone, errNoWorker, writeError, err)
	}
	if h.Type == wire.TypeError {
		err = decodeError(body)
		if lost, ok := errors.AsType[*Error](err); ok && lost.Code == wire.CodeLost {
			err = errors.Join(err, errNoWorker)
		}
		return err
	}
	var m wire.Welcome
	if h.Type != wire.TypeHello|wire.ReplyBit {
		return fmt.Errorf("%w: a %v to a hello", ErrMalformed, h.Type)
	}
	if err := wire.Decode(body, &m); err != nil {
		return err
	}
	if m.Version != wire.Version {
		return fmt.Errorf("%w: the server chose %d, this client speaks %d", ErrVersion, m.Version, wire.Version)
	}
	c.mu.request = 1
	c.welcome = Welcome{
		m.Session, m.Generation, string(m.Server), string(m.Device), string(m.Label), m.Fingerprint, m.Limits, m.ZeroCopy, string(m.Ended),
		int(m.Number), int(m.Devices), string(m.UUID), m.Jobs,
	}
	c.welcome.Jobs.StorageAlignment, c.welcome.Jobs.UniformAlignment = max(1, m.Jobs.StorageAlignment), max(1, m.Jobs.UniformAlignment)
	return nil
}

// checkName returns an error for a name that the protocol cannot carry: a server would end the
// session for it.
func checkName(name string) error {
	if len(name) > wire.MaxText || !utf8.ValidString(name) {
		return fmt.Errorf("%w: the name %.40q of %d bytes: UTF-8 of at most %d is possible", job.ErrInvalid, name, len(name), wire.MaxText)
	}
	return nil
}

// label returns the end of a name for people, as the protocol carries it.
func label(name string) string {
	return strings.ToValidUTF8(name[max(0, len(name)-wire.MaxText):], "")
}

// Name returns the name of the session's GPU.
func (c *Client) Name() string { return c.welcome.Device }

// Welcome returns what the server told the session.
func (c *Client) Welcome() Welcome { return c.welcome }

// Close ends the session. The server frees everything that it had. Pending jobs end with
// job.ErrClosed.
func (c *Client) Close() error {
	c.end(job.ErrClosed)
	<-c.done
	c.closeRing()
	c.staging.release()
	return nil
}

// Err returns why the session ended, or nil.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.ended
}

// orEnded returns why the session ended, or err where it has not.
func (c *Client) orEnded(err error) error {
	if ended := c.Err(); ended != nil {
		return ended
	}
	return err
}

// Status returns the server's state as JSON.
func (c *Client) Status(ctx context.Context) ([]byte, error) {
	var reply wire.Data
	if err := c.do(ctx, wire.TypeStatus, &wire.Empty{}, &reply); err != nil {
		return nil, err
	}
	return reply.Data, nil
}

// end ends the session: every call returns err. Only the first call has an effect.
func (c *Client) end(err error) {
	c.mu.Lock()
	if c.mu.ended != nil {
		c.mu.Unlock()
		return
	}
	c.mu.ended = err
	calls := c.mu.calls
	c.mu.calls = map[uint64]*call{}
	if c.mu.check != nil {
		c.mu.check.Stop()
	}
	c.mu.fewer.Broadcast()
	c.mu.Unlock()
	c.conn.Close()
	if r := c.ring.Load(); r != nil {
		_ = r.Close()
	}
	for _, each := range calls {
		c.finish(each, nil, err)
	}
}

// read passes replies to their calls until the connection ends.
func (c *Client) read() {
	defer close(c.done)
	defer c.conn.CloseFiles() // no reply has any
	for {
		h, body, err := c.conn.Next()
		if err != nil {
			err = fmt.Errorf("%w: %w", ErrServerGone, err)
		} else if h.Request == 0 && h.Type == wire.TypeError {
			err = decodeError(body)
		}
		if err != nil {
			c.readRing() // its replies were before
			c.end(err)
			return
		}
		if h.Request == 0 && h.Type == wire.TypeWake {
			c.mu.Lock()
			c.mu.replies++
			c.mu.Unlock()
			c.readRing()
		} else {
			c.answer(h, body)
		}
	}
}

// answer passes a reply to its call, and reports whether a goroutine sleeps until then.
func (c *Client) answer(h wire.Header, body []byte) (woke bool) {
	c.mu.Lock()
	c.mu.replies++
	waiting := c.answered(h.Request)
	c.mu.Unlock()
	switch {
	case waiting == nil:
		c.end(fmt.Errorf("%w: %w: a reply to no request", ErrServerGone, ErrMalformed))
	case h.Type == wire.TypeError:
		c.finish(waiting, nil, decodeError(body))
	case h.Type != waiting.sent|wire.ReplyBit:
		c.finish(waiting, nil, fmt.Errorf("%w: a %v to a %v", ErrMalformed, h.Type, waiting.sent))
	default:
		c.finish(waiting, body, nil)
	}
	return waiting != nil && waiting.awaited.Load()
}

func decodeError(body []byte) error {
	var m wire.Error
	if err := wire.Decode(body, &m); err != nil {
		return err
	}
	return &Error{m.Code, m.Message, m.Hint}
}
