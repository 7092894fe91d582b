//go:build linux

package server

import (
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// session is one client. See the package documentation for its goroutines.
type session struct {
	server *Server
	conn   *socket.Conn
	out    *outbox
	id     uint64
	client string // from its hello

	ctx     context.Context // ends with the session
	cancel  context.CancelFunc
	queue   *queue
	running chan *running
	backlog *semaphore.Weighted // bytes of requests that are not handled yet
	pace    *pace
	reading sync.WaitGroup // of the ring

	completing atomic.Int64 // jobs that complete has not answered
	direct     *running     // a job that the reader of the ring answers; used by it alone

	handling sync.Mutex // held by the goroutine that performs a request
	objects  *objects   // guarded by handling

	mu struct {
		sync.Mutex
		unanswered map[uint64]*task
		jobs       int // of the unanswered, those that are timed
		requests   uint64
		ring       *ringStream // nil: none
		deadlines  deadlines
		draining   bool
		idle       context.Context // ends when draining and nothing is unanswered
		setIdle    context.CancelFunc
	}
}

const (
	maxRunning = 1024 // jobs that are submitted and not completed
	abortTime  = time.Second
	goesOnTime = 3 * time.Second // less than clients wait, and few in 10 minutes for one that reads none
)

func newSession(server *Server, conn *socket.Conn) *session {
	s := &session{
		server: server, conn: conn, out: newOutbox(conn, server.options.ReadTime, func(error) {}),
		queue: newQueue(), running: make(chan *running, maxRunning),
		backlog: semaphore.NewWeighted(wire.MaxBacklog), pace: newPace(&server.lastDone), objects: newObjects(server),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.mu.unanswered = map[uint64]*task{}
	s.mu.idle, s.mu.setIdle = context.WithCancel(context.Background())
	s.mu.deadlines.timer = time.AfterFunc(time.Hour, s.expire)
	s.mu.deadlines.timer.Stop()
	return s
}

// serve runs the session to its end, and frees everything that it had.
func (s *session) serve() {
	defer s.server.end(s)
	request, err := s.hello()
	if err != nil {
		s.refuse(err)
		return
	}
	var rest sync.WaitGroup
	rest.Go(s.out.write)
	rest.Go(s.handle)
	rest.Go(s.complete)
	s.welcome(request)
	err = s.read()
	s.server.options.Logger.Debug("session ends", "session", s.id, "client", s.client, "reason", err)
	if errors.Is(err, wire.ErrMalformed) {
		s.abort(asReply(err, wire.CodeMalformed))
	}
	s.cancel()
	s.out.close()
	s.closeRing()
	s.reading.Wait()
	s.queue.close()
	rest.Wait()
	s.mu.deadlines.timer.Stop()
	s.freeRing()
	s.conn.CloseFiles()
	s.objects.release()
}

// hello waits for the first request, and returns its number. An error that is a *wire.Error, or
// malformed, is its answer.
func (s *session) hello() (request uint64, err error) {
	h, body, err := s.conn.NextHello()
	s.server.lobby.Leave(s.conn.Unix())
	if err != nil {
		return 0, err
	}
	// Also where the lobby has given the connection up since it was read.
	if err := s.conn.SetReadDeadline(time.Time{}); err != nil {
		return 0, err
	}
	var m wire.Hello
	if h.Type != wire.TypeHello || h.Request == 0 {
		return 0, errors.Join(wire.ErrMalformed, errors.New("the first request is not a hello, or has no number"))
	}
	if err := wire.Decode(body, &m); err != nil {
		return 0, err
	}
	if _, err := s.conn.TakeFiles(h.Type); err != nil {
		return 0, err
	}
	if err := m.CheckVersion(); err != nil {
		return 0, err
	}
	if err := s.server.options.Device.check(string(m.Device)); err != nil {
		return 0, err
	}
	s.client = string(m.Client)
	if refusal := s.server.admit(s); refusal != nil {
		return 0, refusal
	}
	return h.Request, nil
}

// refuse ends a connection without a session.
func (s *session) refuse(reason error) {
	s.server.options.Logger.Debug("a client has no session", "reason", reason)
	if errors.Is(reason, wire.ErrMalformed) || errors.As(reason, new(*wire.Error)) {
		frame, _ := wire.AppendFrame(nil, wire.TypeError, 0, asReply(reason, wire.CodeMalformed))
		_, _ = s.conn.TryWrite(frame)
	}
	s.cancel()
	s.conn.Close()
	s.conn.CloseFiles()
}

// welcome answers the hello.
func (s *session) welcome(request uint64) {
	s.out.put(wire.TypeHello|wire.ReplyBit, request, s.server.welcome(s.id))
	s.out.flush()
	s.server.options.Logger.Debug("session begins", "session", s.id, "client", s.client)
}

// read passes requests to handle until the connection ends.
func (s *session) read() error {
	for {
		h, b, err := s.conn.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		files, err := s.conn.TakeFiles(h.Type)
		if err != nil {
			return err
		}
		if h.Request == 0 && h.Type == wire.TypeWake {
			if err := s.wakeRing(b); err != nil {
				return err
			}
			continue
		}
		s.server.counts.requests.Add(1)
		if err := s.receive(s.out, h, b, files); err != nil {
			socket.CloseAll(files)
			return err
		}
	}
}

// receive accepts one request, whose body is valid until it returns. Where it fails the caller
// closes the files.
func (s *session) receive(out *outbox, h wire.Header, b []byte, files []int) error {
	if !out.expect(0, s.context) { // waits while the client does not read
		return io.ErrClosedPipe
	}
	if h.Type <= wire.TypeHello || h.Type > wire.TypeTexture || h.Request == 0 {
		return errors.Join(wire.ErrMalformed, errors.New("a request of type "+h.Type.String()+", or without a number"))
	}
	if h.Type == wire.TypeCancel {
		return s.cancelRequest(out, h, b)
	}
	weight := wire.Weight(len(b), len(files))
	if err := s.acquire(out, weight); err != nil {
		return err
	}
	t, err := s.admit(out, h, b)
	if err != nil {
		s.backlog.Release(weight)
		if reply, ok := errors.AsType[*wire.Error](err); ok {
			socket.CloseAll(files)
			s.failed(h.Type, reply)
			out.put(wire.TypeError, h.Request, reply)
			out.flush()
			return nil
		}
		return err
	}
	t.files = files
	if s.canStart(t) && s.handling.TryLock() {
		t.direct = out != s.out && s.canAwait()
		done := s.take(t)
		s.handling.Unlock()
		if done {
			return nil
		}
		t.direct = false
	}
	t.keepBody()
	s.queue.put(t)
	t.freeQueued() // its deadline may have passed before
	return nil
}

// acquire waits until there is room for a request in the backlog, and says every few
// seconds that it goes on: a client whose cancels are not read either could not tell that from a
// server that is stopped. The session ends where its client does meanwhile: its end would be read
// after everything that was sent before.
func (s *session) acquire(out *outbox, weight int64) error {
	if s.backlog.TryAcquire(weight) {
		return nil
	}
	if out != s.out { // read watches the client
		return s.awaitRoom(weight)
	}
	var watching sync.WaitGroup
	watching.Go(func() {
		if s.conn.AwaitEnd() {
			s.cancel()
		}
	})
	err := s.awaitRoom(weight)
	_ = s.conn.SetReadDeadline(time.Unix(1, 0)) // ends AwaitEnd
	watching.Wait()
	return errors.Join(err, s.conn.SetReadDeadline(time.Time{}))
}

func (s *session) awaitRoom(weight int64) error {
	for {
		soon, cancel := context.WithTimeout(s.ctx, goesOnTime)
		err := s.backlog.Acquire(soon, weight)
		cancel()
		if err == nil || s.ctx.Err() != nil {
			return err
		}
		_ = s.wakeClient()
	}
}

var errOneNumber = errors.Join(wire.ErrMalformed, errors.New("two unanswered requests have one number"))

// admit makes the task of a request. It returns a *wire.Error for a request that is
// refused, and another error for one that ends the session.
func (s *session) admit(out *outbox, h wire.Header, b []byte) (*task, error) {
	timed := h.Type.IsTimed()
	s.mu.Lock()
	defer s.mu.Unlock()
	limits := &s.server.options.Limits
	switch {
	case s.mu.draining:
		return nil, reject(wire.CodeDraining, "the server shuts down")
	case s.mu.unanswered[h.Request] != nil:
		return nil, errOneNumber
	case timed && s.mu.jobs >= int(limits.Jobs):
		return nil, reject(wire.CodeQuota, "the session has %d unanswered jobs already", s.mu.jobs)
	}
	t := &task{s: s, out: out, header: h, body: b}
	s.mu.unanswered[h.Request] = t
	s.mu.requests++
	if !timed {
		return t, nil
	}
	s.mu.jobs++
	t.times = newJobTimes(s.server.options.Tracer)
	deadline := cmp.Or(wire.Deadline(h.Type, b), limits.Deadline)
	t.deadline = time.Now().Add(time.Duration(min(deadline, limits.Longest)))
	s.mu.deadlines.cover(t.deadline)
	return t, nil
}

// context ends with the session.
func (s *session) context() context.Context { return s.ctx }

// settle removes a request and puts its reply: in one step, so that drain, which ends the
// session when nothing is unanswered, comes after the reply. It returns what put does.
func (s *session) settle(t *task, typ wire.Type, m wire.Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.mu.unanswered, t.header.Request)
	if t.ends != nil {
		t.ends()
	}
	if t.header.Type.IsTimed() {
		s.mu.jobs--
	}
	sent := t.out.put(typ, t.header.Request, m)
	if s.mu.draining && len(s.mu.unanswered) == 0 {
		s.mu.setIdle()
	}
	return sent
}

// flush writes the replies of both streams that wait for it.
func (s *session) flush() {
	s.out.flush()
	if r := s.ring(); r != nil {
		r.out.flush()
	}
}

// ring returns the session's ring, or nil.
func (s *session) ring() *ringStream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.ring
}

// cancelRequest answers a cancel, and before it the request that it ends.
func (s *session) cancelRequest(out *outbox, h wire.Header, b []byte) error {
	var m wire.Cancel
	if err := wire.Decode(b, &m); err != nil {
		return err
	}
	s.mu.Lock()
	t, twice := s.mu.unanswered[m.Request], s.mu.unanswered[h.Request] != nil
	s.mu.Unlock()
	if twice {
		return errOneNumber
	}
	if t != nil {
		t.end(wire.CodeCancelled, "a cancel request ended it")
	}
	out.put(h.Type|wire.ReplyBit, h.Request, &wire.Empty{})
	out.flush()
	return nil
}

// drain ends the session when it has answered the requests that it has read.
func (s *session) drain() {
	s.mu.Lock()
	s.mu.draining = true
	if len(s.mu.unanswered) == 0 {
		s.mu.setIdle()
	}
	s.mu.Unlock()
	<-s.mu.idle.Done()
	s.end(reject(wire.CodeDraining, "the server shuts down"), drainTime)
}

// abort ends the session with an error. Requests that are not begun are not done.
func (s *session) abort(reason *wire.Error) { s.end(reason, abortTime) }

// end ends the session with an error, when the client has read all replies, or after a limit.
func (s *session) end(reason *wire.Error, limit time.Duration) {
	// The socket carries what ends the session, after what the ring has.
	if r := s.ring(); r != nil {
		r.out.drain(limit)
	}
	s.out.put(wire.TypeError, 0, reason)
	s.out.drain(limit)
	s.cancel()
}
