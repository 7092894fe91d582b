//go:build linux

package server

import (
	"errors"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// heldProgram is an object of a session that jobs use.
type heldProgram struct{}

func (heldProgram) kind() wire.Kind { return wire.KindProgram }
func (heldProgram) close(*objects)  {}

// TestASecondTry has the last job that holds something end while a request finds no room.
func TestASecondTry(t *testing.T) {
	server := &Server{options: Options{Limits: wire.Limits{Objects: 9}}}
	for code, again := range map[wire.Code]bool{wire.CodeQuota: true, wire.CodeOutOfMemory: true, wire.CodeInvalid: false} {
		s := &session{server: server, objects: newObjects(server), ctx: t.Context()}
		s.objects.add(1, heldProgram{})
		s.objects.begin()
		if err := s.objects.drop(wire.KindProgram, 1); err != nil {
			t.Fatal(err)
		}
		tries := 0
		request := &task{s: s, header: wire.Header{Type: wire.TypeBuffer, Request: 1}, body: wire.Append(nil, &wire.Buffer{ID: 1})}
		s.mu.unanswered = map[uint64]*task{1: request}
		_, err := decoded(request, func(*task, *wire.Buffer) (wire.Message, error) {
			if tries++; tries > 1 {
				return &wire.Empty{}, nil
			}
			s.objects.end()
			return nil, reject(code, "no room")
		})
		if (err == nil) != again {
			t.Errorf("%v: %v after %d tries", code, err, tries)
		}
	}
}

// blocks is a program of so many blocks.
type blocks struct {
	job.Program
	n int
}

func (p blocks) Interface() shader.Interface {
	return shader.Interface{Resources: make([]shader.Resource, p.n)}
}

// TestListBytes has dispatches that bind operands of the job: each of them takes memory for each.
func TestListBytes(t *testing.T) {
	const dispatches = 1000
	for n, want := range map[int]int{0: 1 << 10, 32: 32*80 + 1<<10} {
		j := &job.Job{Dispatch: job.Dispatch{Program: blocks{n: n}}, Inputs: make([]job.Input, 100)}
		j.Then = slices.Repeat([]job.Dispatch{j.Dispatch}, dispatches-1)
		if got := listBytes(j) / dispatches; got < want || got > 2*want {
			t.Errorf("%d bytes of a dispatch with %d blocks, want %d", got, n, want)
		}
		before := listBytes(j)
		if j.TextureInputs, j.TextureOutputs = make([]job.TextureInput, 1000), make([]job.TextureOutput, 1000); listBytes(j)-before < 2000*400 {
			t.Errorf("%d bytes of copies of texels", listBytes(j)-before)
		}
	}
}

// TestAQuotaIsNotPassed takes up to the limit, beyond it, and so much that a sum overflows.
func TestAQuotaIsNotPassed(t *testing.T) {
	var all atomic.Int64
	q := quota{what: "buffers", limit: 100, all: &all}
	for _, c := range []struct {
		size uint64
		fits bool
	}{{60, true}, {41, false}, {math.MaxUint64, false}, {math.MaxUint64 - 59, false}, {40, true}, {1, false}, {0, true}} {
		err := q.take(c.size)
		if refused, ok := errors.AsType[*wire.Error](err); (err == nil) != c.fits || !c.fits && (!ok || refused.Code != wire.CodeQuota) {
			t.Errorf("%d bytes more of %d: %v", c.size, q.used.Load(), err)
		}
	}
	if q.give(60); q.used.Load() != 40 || all.Load() != 40 {
		t.Errorf("%d bytes are used, %d of all", q.used.Load(), all.Load())
	}
}
