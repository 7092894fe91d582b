//go:build linux

package client

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// cancelled returns a context that ends soon.
func cancelled(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

// TestAServerThatStopsAnswering welcomes a client and answers nothing more, as a process does
// that is stopped: a job fails after its deadline, and the session has ended.
func TestAServerThatStopsAnswering(t *testing.T) {
	before := answerGrace
	answerGrace = 20 * time.Millisecond
	defer func() { answerGrace = before }()
	dir, err := os.MkdirTemp("", "scs")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	welcome := &wire.Welcome{Version: wire.Version, Limits: wire.Limits{
		Jobs: 4, Objects: 4, Memory: 1, Buffers: 1, Named: 1, Deadline: uint64(time.Millisecond), Longest: uint64(time.Minute),
	}, Jobs: oneGroup}
	frame, err := wire.AppendFrame(nil, wire.TypeHello|wire.ReplyBit, 1, welcome)
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan net.Conn, 1)
	go func() {
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write(frame)
			accepted <- c
		}
	}()
	c, err := Dial(t.Context(), Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.Close(); (<-accepted).Close() }()
	if _, err := c.Get(cancelled(t), shader.MustSource("p", "layout(local_size_x = 1) in;\nvoid main() {}", nil)); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err) // its reply is due in minutes, that of the job before
	}
	start := time.Now()
	pending, err := c.Submit(t.Context(), &job.Job{Dispatch: job.Dispatch{Program: madeProgram(c), Groups: [3]uint32{1, 1, 1}}, Outputs: []job.Output{{To: make([]byte, 4)}, {Binding: 1, To: make([]byte, 4)}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := pending.Wait(t.Context()); !errors.Is(err, ErrServerGone) || time.Since(start) < 2*answerGrace {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	if c.Err() == nil {
		t.Error("the session has not ended")
	}
}
