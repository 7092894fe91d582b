package isolate

import (
	"context"
	"errors"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
)

// run is one call of Pool.Run or Pool.Compile.
type run struct {
	Pool
	request func(index int) string // encodes one when it is sent
	stored  func(index int) bool   // so that it is probably not compiled
	done    func(Result)

	stores     []*binary.Store // of all drivers, as the run started
	seen       seenLines
	recovering sync.Mutex
	workers    errgroup.Group

	mu struct {
		sync.Mutex
		waiting []int        // indices of requests
		lost    map[int]bool // tried once, and the child was lost for an unknown reason
		working int          // workers
	}
	report Report // guarded by mu until the workers have ended
}

// all compiles count requests.
func (r *run) all(ctx context.Context, count int) (Report, error) {
	r.mu.lost, r.seen.lines = map[int]bool{}, map[string]bool{}
	r.openStores()
	compiles := 0
	for i := range count {
		r.mu.waiting = append(r.mu.waiting, i)
		if !r.stored(i) {
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

// addWorkers adds workers until there are as many as wanted. The caller holds mu.
func (r *run) addWorkers(ctx context.Context, wanted int) {
	for ; r.mu.working < wanted; r.mu.working++ {
		r.workers.Go(func() error {
			defer r.endWorker()
			return r.work(ctx)
		})
	}
}

func (r *run) endWorker() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.working--
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

// growthCheck is after how many programs from disk the memory of a child is measured.
const growthCheck = 32

// workWithChild feeds one child until no request waits, or the child is lost or has
// grown.
func (r *run) workWithChild(ctx context.Context) error {
	child, err := r.startChild(r.Command)
	if err != nil {
		return err
	}
	for sent := 0; ctx.Err() == nil && !(sent%growthCheck == 0 && child.hasGrown()); sent++ {
		index, ok := r.next()
		if !ok {
			return child.end()
		}
		request := r.request(index)
		program, err := child.send(request)
		if lost, ok := errors.AsType[*LostError](err); ok {
			return r.childLost(index, request, child, lost)
		}
		r.answer(program.result(index))
		if program.Origin == cache.Compiled.String() {
			r.helpWith(ctx)
		}
		if program.Origin != cache.Disk.String() {
			sent |= growthCheck - 1 // the next time too
		}
	}
	return errors.Join(ctx.Err(), child.end())
}

// helpWith starts further children: programs have to be compiled.
func (r *run) helpWith(ctx context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addWorkers(ctx, min(r.Jobs, r.mu.working+len(r.mu.waiting)))
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
	if r.Begun != nil {
		r.Begun(index)
	}
	return index, true
}

// childLost answers the request that a child was lost with. Where the reason may lie
// elsewhere, as with a process that the system killed for lack of memory, the request
// gets a second try.
func (r *run) childLost(index int, request string, child *childProcess, lost *LostError) error {
	r.recordCrash(child.command.Process.Pid, lost.Signal)
	key := requestKey(request)
	refused, err := r.recoverMarks(key)
	result := Result{Index: index, Quarantined: refused}
	result.Key, result.Err = key, lost
	var verdict error
	switch {
	case refused || lost.OverMemory:
	case lost.TimedOut:
		result, verdict = r.refuse(result, lost)
	case lost.Crashed() && r.Dir != nil && !r.isBinaryAtFault(key):
		result, verdict = r.crashedTwice(index, request, lost)
	case r.tryAgain(index):
		return err
	case lost.Signal == "" && r.Dir != nil: // it ended itself, twice
		result, verdict = r.refuse(result, lost)
	}
	r.answer(result)
	return errors.Join(err, verdict)
}

// tryAgain queues a request for its second try, and reports whether it did.
func (r *run) tryAgain(index int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.lost[index] {
		return false
	}
	r.mu.lost[index] = true
	r.mu.waiting = append(r.mu.waiting, index)
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
