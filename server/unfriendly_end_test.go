//go:build linux

package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestHalfOfAConnection has clients shut down one direction of their sockets, with requests
// unanswered and with replies that nobody reads. The session ends, and others go on.
func TestHalfOfAConnection(t *testing.T) {
	f := serve(t, server.Options{ReadTime: time.Hour})
	good, b := f.counter("counter")
	p := program(t, good, affine)
	status := frame(wire.TypeStatus, 9, &wire.Empty{})
	for name, attack := range map[string]func(r *raw){
		"no more requests": func(r *raw) { _ = r.Unix().CloseWrite() },
		"no more requests, one unanswered": func(r *raw) {
			unlock := f.LockBuffer("counter")
			r.pipeline(10, r.waiting())
			_ = r.Unix().CloseWrite()
			time.Sleep(10 * time.Millisecond)
			unlock()
		},
		"half a frame": func(r *raw) { r.send(status[:7]); _ = r.Unix().CloseWrite() },
		"no more replies": func(r *raw) {
			_ = r.Unix().CloseRead()
			_ = r.Write(status)
		},
		"no more replies, one to come": func(r *raw) {
			unlock := f.LockBuffer("counter")
			r.pipeline(10, r.waiting())
			_ = r.Unix().CloseRead()
			unlock()
		},
		"neither": func(r *raw) { r.send(status); _ = r.Unix().CloseRead(); _ = r.Unix().CloseWrite() },
		"no more requests, with a ring": func(r *raw) {
			made := r.openRing(ring.MinSize)
			r.want(wire.TypeRing|wire.ReplyBit, 2)
			made.put(frame(wire.TypeStatus, 11, &wire.Empty{}))
			_ = r.Unix().CloseWrite()
		},
	} {
		r := f.raw()
		r.openCounter()
		attack(r)
		eventually(t, "the session ended after "+name, func() bool { return len(f.Status().Sessions) == 1 })
		if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		r.Close()
	}
	if value, version := read(t, b); value != 0 || version > 2 {
		t.Errorf("%d in version %d", value, version)
	}
}

// TestARingThatIsNotRead has clients whose rings the server cannot write, as they read nothing
// or have destroyed the positions of the replies: their sessions end.
func TestARingThatIsNotRead(t *testing.T) {
	f := serve(t, server.Options{ReadTime: 200 * time.Millisecond})
	good := f.dial()
	p := program(t, good, affine)
	status := func(n uint64) []byte { return frame(wire.TypeStatus, n, &wire.Empty{}) }
	for name, attack := range map[string]func(made *rawRing) wire.Code{
		"nothing is read": func(made *rawRing) wire.Code {
			for n := uint64(10); len(f.Status().Sessions) == 2; n++ { // until more than 4 MiB wait
				made.put(status(n))
				eventually(t, "the server has read it, or ended the session", func() bool {
					return made.word(ringHead) == made.word(ringTail) || len(f.Status().Sessions) == 1
				})
			}
			return wire.CodeQuota
		},
		"a head ahead": func(made *rawRing) wire.Code {
			made.setWord(ringReplies+ringHead, 1<<40)
			made.put(status(10))
			return wire.CodeMalformed
		},
		"a head behind": func(made *rawRing) wire.Code {
			made.setWord(ringReplies+ringTail, ring.MinSize+1)
			made.put(status(10))
			return wire.CodeMalformed
		},
		"a tail behind": func(made *rawRing) wire.Code {
			made.put(status(10))
			made.want(wire.TypeStatus|wire.ReplyBit, 10)
			made.setWord(ringReplies+ringTail, 0)
			made.put(status(11))
			return wire.CodeMalformed
		},
	} {
		r := f.rawSession()
		r.wantError(0, attack(r.ring()))
		r.wantEnd()
		eventually(t, "the session ended: "+name, func() bool { return len(f.Status().Sessions) == 1 })
		if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// envStopped has this test binary run as a client of the server at that path: see beStopped.
const envStopped = "SHADERCACHE_SERVER_STOPPED"

// beStopped has a named buffer, one that it is about to make, a named plan, shared memory, a ring,
// jobs that are done and not read, and one that runs, and stops itself with SIGSTOP.
func beStopped(path string) error {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{Path: path, Ring: ring.MinSize, Name: "stopped"})
	if err != nil {
		return err
	}
	p, err1 := c.Get(ctx, slowCount)
	b, err2 := c.OpenBuffer(ctx, "counter")
	_, err3 := c.OpenPlan(ctx, "plan", false, "gemm:2x2x2")
	m, err4 := c.NewMemory(ctx, 1<<20)
	_, err5 := c.NamedBuffer(ctx, "theirs", 1<<20)
	if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	for range 8 {
		if _, err := c.Submit(ctx, countJob(p, b, 20_000)); err != nil {
			return err
		}
	}
	go func() { _, _ = b.Read(ctx, 0, m.Bytes()[:8]) }()
	_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
	select {} // another thread may have got it
}

// TestClientsThatAreStopped stops clients in the midst of their work. Others use what they have
// open, make what they would have made, and get their turns; after a kill nothing is left.
func TestClientsThatAreStopped(t *testing.T) {
	f := serve(t, server.Options{NamedTime: time.Millisecond, ReadTime: time.Hour, Limits: wire.Limits{Jobs: 8}})
	good, b := f.counter("counter")
	p := program(t, good, slowCount)
	warm, err := good.OpenPlan(t.Context(), "", false, "gemm:2x2x2") // its programs stay resident
	if err != nil {
		t.Fatal(err)
	}
	warm.Release()
	before := f.left()
	var stopped []*exec.Cmd
	for range 3 {
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), envStopped+"="+f.path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = cmd.Process.Kill() }()
		stopped = append(stopped, cmd)
		eventually(t, "it is stopped", func() bool {
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
			if err != nil {
				t.Fatal(err)
			}
			_, state, _ := strings.Cut(string(text), ") ")
			return strings.HasPrefix(state, "T")
		})
	}
	for range 20 {
		value, version := read(t, b)
		if _, err := b.Replace(t.Context(), 0, words(1, func(uint32) uint32 { return value }), version, 0); err != nil && !errors.Is(err, job.ErrConflict) {
			t.Error(err)
		}
		if err := submitAndWait(t.Context(), good, countJob(p, b, 100)); err != nil {
			t.Error(err)
		}
		theirs, err := good.OpenBuffer(t.Context(), "theirs")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := theirs.Write(t.Context(), 0, make([]byte, 4096)); err != nil {
			t.Error(err)
		}
		theirs.Release()
		plan, err := good.OpenPlan(t.Context(), "plan", false, "gemm:2x2x2")
		if err != nil {
			t.Fatal(err)
		}
		plan.Release()
	}
	if err := good.DeleteBuffer(t.Context(), "theirs"); err != nil {
		t.Error(err)
	}
	for _, cmd := range stopped {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	eventually(t, "one session", func() bool { return len(f.Status().Sessions) == 1 })
	f.wantLeft(before)
	if value, version := read(t, b); value < 20 || value > 20+3*8 || version < uint64(value) {
		t.Errorf("%d jobs have added 1, version %d", value, version)
	}
}
