package glctx

import (
	"context"
	"slices"
	"sync"
	"time"
)

// turns separate two kinds of work that the driver slows down when they overlap:
//
//	compiling   in the second context of a Beside
//	loading     in the first, where a frame pays for it
//
// Work of one kind overlaps freely. The other kind begins when all of it has ended, and
// what begins later queues behind it.
type turns struct {
	patience time.Duration // bounds the wait for a turn; set before use

	mu      sync.Mutex
	kind    turnKind // of the work that runs
	running int
	waiting []*turn // in order
	late    bool    // something ran out of patience: nothing waits until running is 0
}

type turnKind uint8

const (
	compiling turnKind = iota
	loading
)

// turn is work that waits.
type turn struct {
	kind  turnKind
	begun chan struct{} // closed when it may begin
}

// turnPatience is the patience of a Beside: a program may compile for minutes, and a loop
// may not poll.
const turnPatience = time.Second

// begin waits for a turn, until ctx ends or its patience does. The caller calls end when
// its work has ended.
func (t *turns) begin(ctx context.Context, kind turnKind) (end func()) {
	t.mu.Lock()
	if t.late || t.running == 0 || t.kind == kind && len(t.waiting) == 0 {
		if t.running == 0 {
			t.kind = kind
		}
		t.running++
		t.mu.Unlock()
		return t.end
	}
	w := &turn{kind, make(chan struct{})}
	t.waiting = append(t.waiting, w)
	t.mu.Unlock()
	patience := time.NewTimer(t.patience)
	defer patience.Stop()
	select {
	case <-w.begun:
	case <-ctx.Done():
		t.leave(w, false)
	case <-patience.C:
		t.leave(w, true)
	}
	return t.end
}

// leave begins the work of w out of turn.
func (t *turns) leave(w *turn, late bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.begun:
		return
	default:
	}
	t.running++
	t.waiting = slices.DeleteFunc(t.waiting, func(other *turn) bool { return other == w })
	if late {
		t.late = true
		t.admit(len(t.waiting))
	}
}

func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.running--; t.running > 0 || len(t.waiting) == 0 {
		t.late = t.late && t.running > 0
		return
	}
	t.late, t.kind = false, t.waiting[0].kind
	n := slices.IndexFunc(t.waiting, func(w *turn) bool { return w.kind != t.kind })
	if n < 0 {
		n = len(t.waiting)
	}
	t.admit(n)
}

// admit begins the work of the first n that wait. The caller holds mu.
func (t *turns) admit(n int) {
	for _, w := range t.waiting[:n] {
		t.running++
		close(w.begun)
	}
	t.waiting = t.waiting[n:]
}
