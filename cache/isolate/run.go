package isolate

import (
	"context"
	"errors"
	"sync"
	"time"
)

// run is one call of Pool.Run.
type run struct {
	Pool
	request func(index int) string // encodes one when it is sent
	done    func(Result)

	mu struct {
		sync.Mutex
		waiting  []int        // indices of requests
		answered map[int]bool // done was called
		lost     map[int]bool // tried once, and the child was lost
	}
	report Report // guarded by mu until the workers have ended
}

// work feeds one child after the other until no request waits.
func (r *run) work(ctx context.Context) error {
	for r.left() {
		if err := r.workWithChild(ctx); err != nil {
			return err
		}
	}
	return nil
}

// workWithChild feeds one child until no request waits or the child is lost.
func (r *run) workWithChild(ctx context.Context) error {
	child, err := r.startChild()
	if err != nil {
		return err
	}
	var compiled []int
	for ctx.Err() == nil {
		index, ok := r.next()
		if !ok {
			return child.end(r.Timeout)
		}
		program, err := child.send(r.request(index), r.Timeout)
		if err != nil {
			r.recordCrash(child.command.Process.Pid, child.signal)
			r.childLost(index, compiled, err)
			return nil
		}
		r.answer(program.result(index))
		compiled = append(compiled, index)
	}
	return errors.Join(ctx.Err(), child.end(r.Timeout))
}

func (r *run) left() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.waiting) > 0
}

func (r *run) next() (index int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.waiting) == 0 {
		return 0, false
	}
	index, r.mu.waiting = r.mu.waiting[0], r.mu.waiting[1:]
	return index, true
}

// childLost queues what a lost child compiled again, since the last of it may not have
// reached the disk. The request that it was lost with gets a second try, then it
// fails with err. After a recorded crash the next child refuses that program.
func (r *run) childLost(index int, compiled []int, err error) {
	r.mu.Lock()
	second := r.mu.lost[index]
	r.mu.lost[index] = true
	r.mu.waiting = append(r.mu.waiting, compiled...)
	if !second {
		r.mu.waiting = append(r.mu.waiting, index)
	}
	r.mu.Unlock()
	if second {
		lost := Result{Index: index, Quarantined: true}
		lost.Err = &LostError{err}
		r.answer(lost)
	}
}

// answer calls done with the first result for a request.
func (r *run) answer(result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.mu.answered[result.Index] {
		r.mu.answered[result.Index] = true
		r.report.Answered = time.Now()
		r.done(result)
	}
}
