//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/local"
	"github.com/shadercache/shadercache/executor/named"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Server serves clients with the programs and the executor of one GPU. Its methods may be
// called from any goroutine.
type Server struct {
	context  *glctx.Context
	programs watched
	executor *executor.Executor
	device   *local.Device // that has both
	options  Options
	turns    *turns
	large    *turns              // shares the memory of large operands
	unnamed  *semaphore.Weighted // bytes that sessions may have together: see quota
	library  *library
	buffers  *named.Registry[*named.Buffer]
	plans    *named.Registry[*plan]
	watch    *watchdog
	lobby    *socket.Lobby
	counts   counts
	failures failures
	started  time.Time

	limits   job.Limits
	zeroCopy bool // jobs use the memory of clients in place

	lastDone atomic.Int64 // see pace

	looks struct { // of those who wait for the GPU's thread
		sync.Mutex
		next *look
		made uint64
	}

	mu struct {
		sync.Mutex
		sessions map[*session]struct{}
		next     uint64 // number of the next session
		draining bool
		idle     *time.Timer
	}
	serving context.Context         // ends where the server does by itself; its cause is why
	stop    context.CancelCauseFunc // of serving
	ended   sync.WaitGroup          // connections
}

// Listener has the connections of clients: see [Listen].
type Listener interface {
	// Accept waits for a client. It returns socket.ErrRefused, wrapped, for one that is not
	// served, and net.ErrClosed after Close.
	Accept() (*socket.Conn, error)
	Close() error
}

// Listen binds the socket at path, which Serve closes. Its directory must be the user's alone, and
// is made where it does not exist. It fails where another server has the socket.
func Listen(path string) (Listener, error) {
	l, err := socket.Listen(path)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// counts are the counters of a server.
type counts struct {
	sessions, refused, requests, jobs, failed, deadlines, weights, bytesIn, bytesOut, bytesCopied, busyNanos atomic.Uint64
}

// New returns a server over a context, with a cache and an executor of it. The caller closes
// them after Serve has returned, except after a LostError.
func New(c *glctx.Context, programs *cache.Cache, e *executor.Executor, o Options) *Server {
	o = o.withDefaults()
	s := &Server{context: c, executor: e, options: o, started: time.Now(), library: newLibrary(), lobby: socket.NewLobby()}
	s.limits = c.Info().Limits
	s.zeroCopy = c.Info().PinnedMemory() && !o.CopyMemory
	s.turns = newTurns(e.Capacity())
	// A software driver takes them from the memory of the machine, which kills the process
	// where it has none left.
	s.unnamed = semaphore.NewWeighted(max(osfile.MachineMemory()/2, int64(o.Limits.Buffers)))
	large := int(max(osfile.MachineMemory()/4, int64(o.Limits.Memory)))
	s.large = newTurns(large, large)
	s.buffers = named.NewRegistry[*named.Buffer]("buffer", int64(o.Limits.Named), o.NamedTime, o.Names)
	s.device = local.New(e, programs, s.buffers, nil)
	s.device.NewMemory = s.newMemory
	s.plans = named.NewRegistry[*plan]("plan", int64(o.Limits.Named), o.NamedTime, nil)
	s.watch = newWatchdog(o.HangTime, o.CompileTime, c.Compiling, e.Progress, s.lose)
	s.programs = watched{programs, s.watch}
	s.mu.sessions = map[*session]struct{}{}
	s.serving, s.stop = context.WithCancelCause(context.Background())
	return s
}

// Serve accepts clients until ctx ends, and then drains: sessions finish what they have
// sent, for at most drainTime. It returns nil then, ErrIdle, a *LostError, or the error of
// the listener, which it closes.
func (s *Server) Serve(ctx context.Context, l Listener) error {
	s.mu.Lock()
	s.sessionsChanged()
	s.mu.Unlock()
	failed := make(chan error, 1)
	go func() { failed <- s.accept(l) }()
	var err error
	select {
	case <-ctx.Done():
	case <-s.serving.Done():
	case err = <-failed:
	}
	l.Close()
	s.drain()
	err = cmp.Or(context.Cause(s.serving), err)
	if !errors.As(err, new(*LostError)) {
		s.release()
	}
	return err
}

func (s *Server) accept(l Listener) error {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			s.begin(conn)
		case errors.Is(err, net.ErrClosed):
			return nil
		case errors.Is(err, socket.ErrRefused):
			s.counts.refused.Add(1)
			s.options.Logger.Warn("a client was refused", "reason", err)
			s.options.SessionEnded()
		default:
			return fmt.Errorf("server: accept: %w", err)
		}
	}
}

// begin serves a connection, or refuses it. It counts as a session from its hello.
func (s *Server) begin(conn *socket.Conn) {
	made := newSession(s, conn)
	s.mu.Lock()
	refusal := s.refusal()
	if refusal == nil {
		s.ended.Add(1)
	}
	s.mu.Unlock()
	if refusal != nil {
		made.refuse(refusal)
		s.options.SessionEnded()
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(s.options.ReadTime))
	s.lobby.Enter(conn.Unix())
	go made.serve()
}

// admit starts a session whose hello has come, or returns why it is refused.
func (s *Server) admit(made *session) *wire.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refusal := s.refusal(); refusal != nil {
		return refusal
	}
	s.mu.next++
	made.id = s.mu.next
	s.mu.sessions[made] = struct{}{}
	s.sessionsChanged()
	s.counts.sessions.Add(1)
	return nil
}

// refusal returns the error for a new session, which it counts, or nil. mu is held.
func (s *Server) refusal() (refusal *wire.Error) {
	draining, lost := s.isDraining(), s.lost()
	switch {
	case lost != nil:
		refusal = lost.reply()
	case draining:
		refusal = reject(wire.CodeDraining, "the server shuts down")
	case s.isFull():
		refusal = reject(wire.CodeQuota, "the server has %d sessions already", s.options.Sessions)
	default:
		return nil
	}
	s.counts.refused.Add(1)
	return refusal
}

// isDraining reports whether the server ends. mu is held.
func (s *Server) isDraining() bool { return s.mu.draining || s.serving.Err() != nil }

// isFull reports whether there is no place for one more session. Those that have ended, and have work on
// the GPU still, take places of their own: they may wait for the compile of another one. mu is held.
func (s *Server) isFull() bool {
	places := s.options.Sessions
	for each := range s.mu.sessions {
		if each.ctx.Err() == nil {
			places--
		}
	}
	return places <= 0 || len(s.mu.sessions) >= 4*s.options.Sessions
}

// end removes a connection, and its session, whose objects are released.
func (s *Server) end(ended *session) {
	s.mu.Lock()
	delete(s.mu.sessions, ended)
	s.sessionsChanged()
	s.mu.Unlock()
	s.options.SessionEnded()
	s.ended.Done()
}

// sessionsChanged starts or stops the timer of idle exit. mu is held.
func (s *Server) sessionsChanged() {
	if s.mu.idle != nil {
		s.mu.idle.Stop()
		s.mu.idle = nil
	}
	if s.options.IdleExit > 0 && len(s.mu.sessions) == 0 {
		s.mu.idle = time.AfterFunc(s.options.IdleExit, s.exitIdle)
	}
}

func (s *Server) exitIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.sessions) == 0 {
		s.stop(ErrIdle)
	}
}

// lose ends the server, because the context cannot be used any more.
func (s *Server) lose(reason string) { s.stop(&LostError{reason}) }

// lost returns the loss that ended the server, or nil.
func (s *Server) lost() *LostError {
	lost, _ := errors.AsType[*LostError](context.Cause(s.serving))
	return lost
}

const drainTime = 30 * time.Second

// drain ends all sessions: at once after a loss, else when they have answered what they
// have read.
func (s *Server) drain() {
	s.mu.Lock()
	s.mu.draining = true
	sessions := make([]*session, 0, len(s.mu.sessions))
	for each := range s.mu.sessions {
		sessions = append(sessions, each)
	}
	s.mu.Unlock()
	lost := s.lost()
	s.lobby.Close()
	ended := make(chan struct{})
	for _, each := range sessions {
		if lost != nil {
			go each.abort(lost.reply())
		} else {
			go each.drain()
		}
	}
	go func() {
		s.ended.Wait()
		close(ended)
	}()
	limit := drainTime
	if lost != nil {
		limit = abortTime
	}
	select {
	case <-ended:
	case <-time.After(limit):
		for _, each := range sessions {
			if r := each.ring(); r != nil {
				r.out.close()
			}
			each.out.close()
		}
	}
}

// release frees the named objects. No session is left.
func (s *Server) release() {
	s.buffers.Close()
	s.plans.Close()
	s.watch.stop()
}
