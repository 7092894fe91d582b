//go:build linux

package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/server/wire"
)

// Server serves clients with the programs and the executor of one GPU. Its methods may be
// called from any goroutine.
type Server struct {
	gpu      *shadercache.GPU
	options  Options
	turns    *turns
	library  *library
	buffers  *registry[*buffer]
	plans    *registry[*plan]
	watch    *watchdog
	counts   counts
	failures failures
	started  time.Time

	zeroCopy bool // jobs use the memory of clients in place

	lastDone atomic.Int64 // see pace

	mu struct {
		sync.Mutex
		sessions map[*session]struct{}
		next     uint64 // number of the next session
		draining bool
		stopped  error         // why Serve ends; nil: it does not
		stop     chan struct{} // closed with stopped
		idle     *time.Timer
	}
	ended sync.WaitGroup // sessions
}

// Listener has the connections of clients. *socket.Listener is one.
type Listener interface {
	// Accept waits for a client. It returns socket.ErrRefused, wrapped, for one that is not
	// served, and net.ErrClosed after Close.
	Accept() (*socket.Conn, error)
	Close() error
}

// counts are the counters of a server.
type counts struct {
	sessions, refused, requests, jobs, failed, deadlines, weights, bytesIn, bytesOut, bytesCopied, busyNanos atomic.Uint64
}

// New returns a server over a GPU with an executor. The caller closes the GPU after
// Serve has returned, except after a LostError.
func New(gpu *shadercache.GPU, o Options) *Server {
	o = o.withDefaults()
	s := &Server{gpu: gpu, options: o, started: time.Now(), library: newLibrary()}
	s.zeroCopy = gpu.Context.Info().PinnedMemory() && !o.CopyMemory
	s.turns = newTurns(gpu.Executor)
	s.buffers = newRegistry[*buffer](int64(o.Limits.Named), o.NamedTime, o.Names)
	s.plans = newRegistry[*plan](int64(o.Limits.Named), o.NamedTime, nil)
	s.watch = newWatchdog(o.HangTime, o.CompileTime, s.lose)
	s.mu.sessions = map[*session]struct{}{}
	s.mu.stop = make(chan struct{})
	return s
}

// Serve accepts clients until ctx ends, and then drains: sessions finish what they have
// sent, for at most drainTime. It returns nil then, ErrIdle, a *LostError, or the error of
// the listener, which it closes.
func (s *Server) Serve(ctx context.Context, l Listener) error {
	s.sessionsChanged(0)
	failed := make(chan error, 1)
	go func() { failed <- s.accept(l) }()
	var err error
	select {
	case <-ctx.Done():
	case <-s.mu.stop:
	case err = <-failed:
	}
	l.Close()
	s.drain()
	if stopped := s.reason(); stopped != nil {
		err = stopped
	}
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

// begin starts a session, or refuses it.
func (s *Server) begin(conn *socket.Conn) {
	s.mu.Lock()
	refusal := s.refusal()
	if refusal == nil {
		s.mu.next++
		made := newSession(s, conn, s.mu.next)
		s.mu.sessions[made] = struct{}{}
		s.ended.Add(1)
		s.sessionsChangedLocked()
		s.mu.Unlock()
		s.counts.sessions.Add(1)
		go made.serve()
		return
	}
	s.mu.Unlock()
	s.counts.refused.Add(1)
	frame, _ := wire.AppendFrame(nil, wire.TypeError, 0, refusal)
	_, _ = conn.TryWrite(frame)
	conn.Close()
	s.options.SessionEnded()
}

// refusal is the error for a new session, or nil. mu is held.
func (s *Server) refusal() *wire.Error {
	lost, isLost := errors.AsType[*LostError](s.mu.stopped)
	switch {
	case isLost:
		return lost.reply()
	case s.mu.draining:
		return reject(wire.CodeDraining, "the server shuts down")
	case len(s.mu.sessions) >= s.options.Sessions:
		return reject(wire.CodeQuota, "the server has %d sessions already", len(s.mu.sessions))
	}
	return nil
}

// end removes a session, whose objects are released.
func (s *Server) end(ended *session) {
	s.mu.Lock()
	delete(s.mu.sessions, ended)
	s.sessionsChangedLocked()
	s.mu.Unlock()
	s.options.SessionEnded()
	s.ended.Done()
}

func (s *Server) sessionsChanged(int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessionsChangedLocked()
}

// sessionsChangedLocked starts or stops the timer of idle exit.
func (s *Server) sessionsChangedLocked() {
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
		s.stopLocked(ErrIdle)
	}
}

// stopLocked makes Serve return with err. Only the first call has an effect. mu is held.
func (s *Server) stopLocked(err error) {
	if s.mu.stopped == nil {
		s.mu.stopped = err
		s.mu.draining = true
		close(s.mu.stop)
	}
}

// lose ends the server, because the context cannot be used any more.
func (s *Server) lose(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopLocked(&LostError{reason})
}

func (s *Server) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.stopped
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
	lost, isLost := errors.AsType[*LostError](s.mu.stopped)
	s.mu.Unlock()
	ended := make(chan struct{})
	for _, each := range sessions {
		if isLost {
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
	if isLost {
		limit = abortTime
	}
	select {
	case <-ended:
	case <-time.After(limit):
		for _, each := range sessions {
			each.out.close()
		}
	}
}

// release frees the named objects. No session is left.
func (s *Server) release() {
	s.buffers.close()
	s.plans.close()
	s.watch.stop()
}
