package isolate

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// run is one call of Pool.Run or Pool.Compile.
type run struct {
	Pool
	request func(index int) string // encodes one when it is sent
	done    func(Result)

	sources    []*shader.Source // that request encodes; nil: other requests
	stores     []*binary.Store  // of all drivers, as the run started
	seen       sync.Map         // see childOutput
	recovering sync.Mutex
	workers    errgroup.Group

	mu struct {
		sync.Mutex
		waiting []int        // indices of requests
		batched map[int]bool // requests that may be part of a batch: the program is stored
		lost    map[int]bool // tried once, and the child was lost for an unknown reason
		working int          // workers
	}
	report Report // guarded by mu until the workers have ended
}

// all compiles count requests.
func (r *run) all(ctx context.Context, count int) (Report, error) {
	r.mu.batched, r.mu.lost = map[int]bool{}, map[int]bool{}
	r.openStores()
	defer r.claim(ctx)()
	compiles := 0
	for i := range count {
		r.mu.waiting = append(r.mu.waiting, i)
		if len(r.sources) > 0 && r.isKnown(r.sources[i]) { // so that it is probably not compiled
			r.mu.batched[i] = true
		} else {
			compiles++
		}
	}
	r.mu.Lock()
	r.addWorkers(ctx, min(r.Jobs, count, max(compiles, 1)))
	r.mu.Unlock()
	err := r.workers.Wait()
	r.report.Ended = time.Now()
	if r.Dir != nil {
		_, recoverErr := r.recoverMarks([32]byte{})
		err = errors.Join(err, recoverErr)
		r.report.Recovered = time.Now()
		r.mergeSlots()
		r.report.Merged = time.Now()
	}
	return r.report, err
}

// patience is how long a run waits for another process's run in which nothing happens, as
// one that is stopped.
const patience = 5 * time.Second

// claimPoll is how often a run that waits looks whether the other has ended.
const claimPoll = 5 * time.Millisecond

// claim claims the programs that have to be compiled, until the returned function is called.
// It waits while another process compiles them, to load what that one made.
func (r *run) claim(ctx context.Context) (end func()) {
	if r.Dir == nil || len(r.sources) == 0 {
		return func() {}
	}
	region := trace.Begin(r.Tracer, trace.Process, 0, trace.Wait)
	keys := map[shader.Key]*shader.Source{}
	for _, s := range r.sources {
		keys[s.Key()] = s
	}
	held, waited := claimTogether(r.Dir, slices.Collect(maps.Keys(keys)), func(key shader.Key) bool {
		return r.isKnown(keys[key])
	}, patience, func() bool {
		if drivers, _ := r.Dir.Drivers(); len(drivers) != len(r.stores) {
			r.openStores() // the first compile of a driver makes its store
		}
		select {
		case <-ctx.Done():
		case <-time.After(claimPoll):
		}
		return ctx.Err() == nil
	})
	region.End(trace.Bool("waited", waited))
	if waited {
		r.Logger.Info("waited for another process that compiled these programs")
	}
	return func() {
		for _, release := range held {
			release()
		}
	}
}

// addWorkers adds workers until there are as many as wanted. The caller holds mu.
func (r *run) addWorkers(ctx context.Context, wanted int) {
	for ; r.mu.working < wanted; r.mu.working++ {
		r.workers.Go(func() error {
			err := r.work(ctx)
			r.mu.Lock()
			defer r.mu.Unlock()
			r.mu.working--
			return err
		})
	}
}

// work feeds one child after the other until no request waits.
func (r *run) work(ctx context.Context) error {
	var again []int
	for len(again) > 0 || r.left() {
		var err error
		if again, err = r.workWithChild(ctx, again); err != nil {
			return err
		}
	}
	return nil
}

// growthCheck is after how many programs from disk the memory of a child is measured.
const growthCheck = 32

// workWithChild feeds one child, first with a request of its own, until no request waits,
// or the child is lost or has grown. It returns a request for the next child: one that
// runs already does not have the note of what this one was lost with.
func (r *run) workWithChild(ctx context.Context, own []int) (again []int, err error) {
	child, err := r.startChild(r.Command)
	if err != nil {
		return nil, err
	}
	for sent := 0; ctx.Err() == nil && !(sent > 0 && sent%growthCheck == 0 && child.hasGrown()); sent++ {
		indices := own
		if own = nil; len(indices) == 0 {
			indices = r.next()
		}
		if len(indices) == 0 {
			return nil, child.end()
		}
		var requests []string
		for _, index := range indices {
			requests = append(requests, r.request(index))
		}
		programs, err := child.send(requests...)
		if lost, ok := errors.AsType[*LostError](err); ok {
			return r.childLost(indices, child, lost)
		}
		if r.answerAll(indices, programs) {
			r.mu.Lock() // further children help: programs have to be compiled
			r.addWorkers(ctx, min(r.Jobs, r.mu.working+len(r.mu.waiting)))
			r.mu.Unlock()
		}
		if len(indices) > 1 || programs[0].Origin != job.Disk {
			sent |= growthCheck - 1 // the next time too
		}
	}
	if err := child.end(); err != nil { // of a driver, as it closes the context: the next one continues
		r.Logger.Warn("a child that is replaced ended with an error", "error", err)
	}
	return nil, ctx.Err()
}

// answerAll answers requests, queues those again that have to be requested alone, and
// reports whether a program was compiled.
func (r *run) answerAll(indices []int, programs []*programMessage) (compiled bool) {
	var alone []int
	for i, program := range programs {
		if program == nil {
			alone = append(alone, indices[i])
			continue
		}
		r.answer(program.result(indices[i]))
		compiled = compiled || program.Origin == job.Compiled
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requestAlone(alone)
	return compiled
}

// requestAlone queues requests for children that get each of them alone. The caller holds
// mu.
func (r *run) requestAlone(indices []int) {
	for _, index := range indices {
		delete(r.mu.batched, index)
	}
	r.mu.waiting = append(slices.Clone(indices), r.mu.waiting...)
}

func (r *run) left() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.mu.waiting) > 0
}

// next returns the next request, or a batch; none where no request waits.
func (r *run) next() (indices []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for n < min(maxBatch, len(r.mu.waiting)) && r.mu.batched[r.mu.waiting[n]] {
		n++
	}
	n = min(max(n, 1), len(r.mu.waiting))
	indices, r.mu.waiting = r.mu.waiting[:n], r.mu.waiting[n:]
	if r.Begun != nil {
		for _, index := range indices {
			r.Begun(index)
		}
	}
	return indices
}

// childLost answers the request that a child was lost with. Where the reason may lie
// elsewhere, as with a process that the system killed for lack of memory, it returns the
// request, for a second try. Which program of a batch a child died of is not certain, so
// each is requested alone, and there are no batches from then on.
func (r *run) childLost(indices []int, child *childProcess, lost *LostError) (again []int, err error) {
	index := indices[0]
	result := Result{Index: index}
	result.Key, result.Err = r.key(index), lost
	result.Quarantined, err = r.bury(child, lost, result.Key)
	if len(indices) > 1 {
		r.mu.Lock()
		defer r.mu.Unlock()
		clear(r.mu.batched)
		r.requestAlone(indices)
		return nil, err
	}
	var verdict error
	switch {
	case result.Quarantined || lost.OverMemory:
	case lost.TimedOut:
		result, verdict = r.refuse(result, lost)
	case lost.Crashed() && r.Dir != nil && r.isSuspect(result.Key):
		var again bool
		if result, again, verdict = r.crashedTwice(result, lost); again && r.tryAgain(index) {
			return indices, errors.Join(err, verdict)
		}
	case r.tryAgain(index):
		return indices, err
	case lost.Signal == "" && r.Dir != nil: // it ended itself, twice
		result, verdict = r.refuse(result, lost)
	}
	r.answer(result)
	return nil, errors.Join(err, verdict)
}

// key returns the key of the program of a request, where it is a source.
func (r *run) key(index int) shader.Key {
	if len(r.sources) == 0 {
		return shader.Key{}
	}
	return r.sources[index].Key()
}

// tryAgain reports whether a request gets a second try.
func (r *run) tryAgain(index int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.lost[index] {
		return false
	}
	r.mu.lost[index] = true
	delete(r.mu.batched, index)
	return true
}

// answer passes on the result of a request. A program that was compiled is stored, so
// no request is made twice.
func (r *run) answer(result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Answered = time.Now()
	r.done(result)
}
