//go:build linux

package client

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// cancelled returns a context that ends soon.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// silent is a client of a server that welcomes it, says more, and answers nothing, or nothing but
// requests of some types. With TypeWake among them it says again and again that it goes on.
func silent(t *testing.T, more []byte, answered ...wire.Type) *Client {
	dir, err := os.MkdirTemp("", "scs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	welcome := &wire.Welcome{Version: wire.Version, Limits: wire.Limits{
		Jobs: 128, Objects: 4, Memory: 1, Buffers: 1, Named: 1, Deadline: uint64(time.Millisecond), Longest: uint64(time.Minute),
	}, Jobs: oneGroup}
	frame, err := wire.AppendFrame(nil, wire.TypeHello|wire.ReplyBit, 1, welcome)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write(append(frame, more...))
			accepted <- c
			if len(answered) > 0 {
				answer(c, answered)
			}
		}
	}()
	c, err := Dial(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); (<-accepted).Close() })
	return c
}

// answer answers requests of some types, with empty replies.
func answer(c net.Conn, types []wire.Type) {
	wake, _ := wire.AppendFrame(nil, wire.TypeWake, 0, &wire.Empty{})
	for slices.Contains(types, wire.TypeWake) {
		if _, err := c.Write(wake); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	for {
		header := make([]byte, wire.HeaderSize)
		if _, err := io.ReadFull(c, header); err != nil {
			return
		}
		h, err := wire.ParseHeader(header)
		if err == nil {
			_, err = io.CopyN(io.Discard, c, int64(h.Size))
		}
		if err != nil {
			return
		}
		if frame, err := wire.AppendFrame(nil, h.Type|wire.ReplyBit, h.Request, &wire.Empty{}); err == nil && slices.Contains(types, h.Type) {
			_, _ = c.Write(frame)
		}
	}
}

// TestAServerThatCompilesForAnother answers a cancel at once, but no copies before it is done, or
// reads no cancel either and says that it goes on: the session does too. A server that has
// forgotten the job does as well.
func TestAServerThatCompilesForAnother(t *testing.T) {
	before := answerGrace
	answerGrace = 300 * time.Millisecond
	t.Cleanup(func() { answerGrace = before })
	pending := map[wire.Type]*Pending{}
	for _, says := range []wire.Type{wire.TypeCancel, wire.TypeWake} {
		c := silent(t, nil, says)
		p, err := c.Submit(t.Context(), &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 4)}, {Binding: 1, To: make([]byte, 4)}}})
		if err != nil {
			t.Fatal(err)
		}
		pending[says] = p.(*Pending)
	}
	time.Sleep(5 * answerGrace)
	for says, p := range pending {
		select {
		case <-p.Done():
			t.Errorf("%v: the job is answered; session %v", says, p.c.Err())
		default:
		}
	}
}

// TestAServerThatStopsAnswering welcomes a client and answers nothing more, as a process does
// that is stopped: jobs fail after their deadline, all together, and the session has ended.
func TestAServerThatStopsAnswering(t *testing.T) {
	before := answerGrace
	answerGrace = 20 * time.Millisecond
	defer func() { answerGrace = before }()
	c := silent(t, nil)
	if _, err := c.Get(cancelled(t), shader.MustSource("p", "layout(local_size_x = 1) in;\nvoid main() {}", nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err) // its reply is due in minutes, that of the job before
	}
	start := time.Now()
	var last job.Pending
	for range 120 {
		pending, err := c.Submit(t.Context(), &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 4)}, {Binding: 1, To: make([]byte, 4)}}})
		if err != nil {
			t.Fatal(err)
		}
		last = pending
	}
	err := last.Wait(t.Context())
	if took := time.Since(start); !errors.Is(err, ErrServerGone) || took < 2*answerGrace || took > 100*answerGrace {
		t.Errorf("after %v: %v", took, err)
	}
	if c.Err() == nil {
		t.Error("the session has not ended")
	}
}

// TestReleaseWithoutAnAnswer cancels a job whose deadline is far: a server that does not answer
// the cancel is gone long before that.
func TestReleaseWithoutAnAnswer(t *testing.T) {
	before := answerGrace
	answerGrace = 20 * time.Millisecond
	defer func() { answerGrace = before }()
	c := silent(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	pending, err := c.Submit(ctx, &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 4)}, {Binding: 1, To: make([]byte, 4)}}})
	if err != nil {
		t.Fatal(err)
	}
	pending.Release()
	if err := ctx.Err(); err != nil || !errors.Is(c.Err(), ErrServerGone) {
		t.Errorf("released: %v, %v", err, c.Err())
	}
}

// soon fails the test where f does not return within seconds.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { f(); close(done) }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatal(what + " goes on")
	}
}

// TestASocketThatIsFull has a server that reads nothing, as one that compiles and has 1,000 requests:
// contexts end calls, and what nobody waits for returns.
func TestASocketThatIsFull(t *testing.T) {
	c := silent(t, nil)
	soon(t, "releasing", func() {
		for id := range uint32(5000) {
			c.release(wire.KindBuffer, id, false)
		}
	})
	one := &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 4)}, {Binding: 1, To: make([]byte, 4)}}}
	for name, call := range map[string]func(ctx context.Context) error{
		"Status":    func(ctx context.Context) error { _, err := c.Status(ctx); return err },
		"NewBuffer": func(ctx context.Context) error { _, err := c.NewBuffer(ctx, 4096); return err },
		"NewMemory": func(ctx context.Context) error { _, err := c.NewMemory(ctx, 4096); return err },
		"Run":       func(ctx context.Context) error { return c.Run(ctx, one) },
	} {
		soon(t, name, func() {
			if err := call(cancelled(t)); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	soon(t, "Close", func() { c.Close() })
}

// TestWhatAServerReadsAhead is not filled: it would read no cancels then, and contexts would not end
// calls before it has compiled what is before them.
func TestWhatAServerReadsAhead(t *testing.T) {
	input := make([]byte, 50_000)
	for name, ask := range map[string]func(c *Client) error{
		"jobs": func(c *Client) error {
			_, err := c.Submit(cancelled(t), &job.Job{
				Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}},
				Inputs:   []job.Input{{Data: input[:4]}, {Binding: 1, Data: input[:4]}, {Binding: 2, Data: input}, {Binding: 3, Data: input}},
			})
			return err
		},
		"memories": func(c *Client) error { _, err := c.NewMemory(cancelled(t), 4096); return err },
	} {
		c := silent(t, nil, wire.TypeCancel)
		for range 100 {
			if err := ask(c); err != nil && !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		weight := int64(0)
		c.mu.Lock()
		for _, w := range c.mu.calls {
			weight += w.weight
		}
		c.mu.Unlock()
		if weight < wire.MaxBacklog/2 || weight >= wire.MaxBacklog {
			t.Errorf("%s: %d unanswered requests of %d bytes", name, len(c.mu.calls), weight)
		}
	}
}

// TestAFrameThatIsNotTaken has a server that is stopped, and a socket without room: it counts as gone
// as one that has taken the frame.
func TestAFrameThatIsNotTaken(t *testing.T) {
	before := answerGrace
	answerGrace = 10 * time.Millisecond
	defer func() { answerGrace = before }()
	c := silent(t, nil)
	for n := 1; n > 0; {
		var err error
		if n, err = c.conn.TryWrite(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
	}
	soon(t, "Run", func() {
		if err := c.Run(t.Context(), &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 4)}, {Binding: 1, To: make([]byte, 4)}}}); !errors.Is(err, ErrServerGone) {
			t.Error(err)
		}
	})
	c.sending <- struct{}{} // what wrote the frame has ended
	<-c.sending
}

// TestWhatIsLeftForLaterComesFirst has releases while another frame is written: they are before what
// is asked for next, which may need their place.
func TestWhatIsLeftForLaterComesFirst(t *testing.T) {
	c := silent(t, nil)
	c.sending <- struct{}{}
	const releases = 10
	for id := range uint32(releases) {
		c.release(wire.KindBuffer, id, false)
	}
	done := make(chan struct{})
	go func() { _, _ = c.NewBuffer(t.Context(), 4096); close(done) }()
	time.Sleep(10 * time.Millisecond) // mostly it waits then
	<-c.sending
	for asked := uint64(0); asked == 0; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		for _, w := range c.mu.calls {
			if w.sent == wire.TypeBuffer {
				asked = w.request
			}
		}
		c.mu.Unlock()
		if asked != 0 && asked != 1+releases+1 {
			t.Errorf("the buffer is request %d, behind %d releases and a hello", asked, releases)
		}
	}
	c.Close()
	<-done
}

// rings returns both sides of a ring.
func rings(t *testing.T) (mine, theirs *ring.Ring) {
	t.Helper()
	memory, nothing := make([]byte, ring.Bytes(ring.MinSize)), func() error { return nil }
	return ring.New(ring.Client, memory, ring.MinSize, nothing), ring.New(ring.Server, memory, ring.MinSize, nothing)
}

// TestTheLastReplyInTheRing is there when the session ends: a server wakes nobody who polls.
func TestTheLastReplyInTheRing(t *testing.T) {
	mine, theirs := rings(t)
	c := silent(t, nil)
	c.ring.Store(&clientRing{Ring: mine})
	pending, err := c.Submit(t.Context(), &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 4)}, {Binding: 1, To: make([]byte, 4)}}})
	if err != nil {
		t.Fatal(err)
	}
	h, _, err := theirs.Take()
	if err != nil {
		t.Fatal(err)
	}
	reply, _ := wire.AppendFrame(nil, wire.TypeError, h.Request, &wire.Error{Code: wire.CodeQuota})
	if n, err := theirs.TryWrite(reply); n != len(reply) || err != nil {
		t.Fatal(n, err)
	}
	c.conn.Close()
	if err := pending.Wait(t.Context()); errors.Is(err, ErrServerGone) || err == nil {
		t.Errorf("a job that was answered: %v", err)
	}
}

// TestALargeJobBehindTheRing waits until what is in the ring is answered: its context, its release
// and those of others end meanwhile, and nothing of it is sent then.
func TestALargeJobBehindTheRing(t *testing.T) {
	mine, _ := rings(t)
	c := silent(t, nil)
	c.ring.Store(&clientRing{Ring: mine})
	of := func(outputs int) *job.Job {
		return &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, outputs)}, {Binding: 1, To: make([]byte, 4)}}}
	}
	if _, err := c.Submit(t.Context(), of(4)); err != nil {
		t.Fatal(err)
	}
	large, err := c.Submit(t.Context(), of(ring.MinSize))
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "Status", func() {
		if _, err := c.Status(cancelled(t)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	soon(t, "Release", large.Release)
	c.sending <- struct{}{} // what waited for its turn does not any more
	<-c.sending
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.inRing != 1 || c.mu.inSocket != 0 {
		t.Errorf("%d requests by the ring and %d by the socket", c.mu.inRing, c.mu.inSocket)
	}
}

// TestWhatIsMadeByTheSocketIsReleasedByIt gives up what was asked for by the socket, and releases
// it: by the ring that would overtake what makes it, or come after what makes the next one.
func TestWhatIsMadeByTheSocketIsReleasedByIt(t *testing.T) {
	mine, theirs := rings(t)
	c := silent(t, nil)
	c.ring.Store(&clientRing{Ring: mine})
	for name, ask := range map[string]func(ctx context.Context) error{
		"memory": func(ctx context.Context) error { _, err := c.NewMemory(ctx, 4096); return err },
		"plan":   func(ctx context.Context) error { _, err := c.OpenPlan(ctx, "", false, "gemm:4x4x4"); return err },
		"program": func(ctx context.Context) error {
			_, err := c.Get(ctx, shader.MustSource("p", "void main() {}", nil))
			return err
		},
	} {
		if err := ask(cancelled(t)); !errors.Is(err, context.DeadlineExceeded) || theirs.Ready() {
			t.Errorf("%s: %v, and in the ring is something: %v", name, err, theirs.Ready())
		}
	}
	for kind := wire.KindProgram; kind <= wire.KindTexture; kind++ {
		c.release(kind, 99, false)
		if byRing := kind == wire.KindBuffer || kind == wire.KindTexture; theirs.Ready() != byRing {
			t.Errorf("kind %d: in the ring is something: %v", kind, theirs.Ready())
		}
		for theirs.Ready() {
			if _, _, err := theirs.Take(); err != nil {
				t.Fatal(err)
			}
		}
		c.mu.Lock() // it is answered
		c.mu.inRing, c.mu.inSocket = 0, 0
		c.mu.Unlock()
	}
	c.mu.Lock() // a job is not: the release does not wait for it
	c.mu.inRing = 1
	c.mu.Unlock()
	if c.release(wire.KindProgram, 99, false); !theirs.Ready() {
		t.Error("a release behind a job is not in the ring")
	}
}

// TestReplyToNoRequest ends the session: else a server that answers only such would count as one
// that answers.
func TestReplyToNoRequest(t *testing.T) {
	frame, err := wire.AppendFrame(nil, wire.TypeCancel|wire.ReplyBit, 99, &wire.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silent(t, frame).Status(t.Context()); !errors.Is(err, ErrMalformed) {
		t.Error(err)
	}
}

// TestRepliesInTheRingAfterTheEnd are left there: a server that goes on to send them holds up nobody.
func TestRepliesInTheRingAfterTheEnd(t *testing.T) {
	mine, theirs := rings(t)
	frame, err := wire.AppendFrame(nil, wire.TypeCancel|wire.ReplyBit, 99, &wire.Empty{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.TryWrite(frame); err != nil {
		t.Fatal(err)
	}
	c := &Client{}
	c.mu.ended = job.ErrClosed
	c.sleep(&clientRing{Ring: mine})
	if !mine.Ready() {
		t.Error("the reply was taken")
	}
}

// TestALogThatIsAPipe is refused, where opening it would wait for a reader.
func TestALogThatIsAPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	if err := syscall.Mkfifo(logPath(path), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := execServer("/bin/true", path, nil); !errors.Is(err, syscall.ENXIO) {
		t.Error(err)
	}
}
