package glctx

import (
	"slices"
	"sync"
	"time"
)

// firstDispatches follows each program from its first dispatch until the GPU has finished
// it: a driver may crash in work that it leaves until then.
//
//	fresh     compiled or loaded, and dispatched less than measuredDispatches times
//	begun     dispatched; no fence follows yet
//	fenced    a fence follows
//
// The GPU's time is measured for the first of them: see WatchTimes. All but watchers and
// timers belongs to the GL thread.
type firstDispatches struct {
	mu       sync.Mutex
	watchers []*func(program uint32) (done func())

	timers []*func(program uint32, gpu time.Duration, operations float64) // guarded by mu

	current    uint32         // as of UseProgram
	fresh      map[uint32]int // how often each was dispatched
	operations float64        // of the next dispatch; 0 = unknown
	end        Query          // to be written after the dispatch
	begun      []func()
	fenced     map[Fence][]func()
}

// WatchFirstDispatch calls watch on the GL thread before the first dispatch of each program
// that Compile or Load made, and calls what it returns, unless nil, once the GPU has
// finished the dispatch, as a fence or Finish shows. It costs later dispatches nothing.
// stop ends it. Dispatches that bypass GL.UseProgram and GL.Dispatch are not seen.
func (c *Context) WatchFirstDispatch(watch func(program uint32) (done func())) (stop func()) {
	return addWatcher(&c.first.mu, &c.first.watchers, watch)
}

// addWatcher adds a function to a list that a lock guards. stop takes it out. Both change a copy:
// the GL thread reads the list without the lock.
func addWatcher[F any](mu *sync.Mutex, list *[]*F, watch F) (stop func()) {
	mu.Lock()
	defer mu.Unlock()
	*list = append(slices.Clip(*list), &watch)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		*list = slices.DeleteFunc(slices.Clone(*list), func(w *F) bool { return w == &watch })
	}
}

// begin is called before each dispatch while there are fresh programs.
func (f *firstDispatches) begin(gl *GL) {
	before, fresh := f.fresh[f.current]
	if !fresh {
		return
	}
	f.mu.Lock()
	watchers, timers := f.watchers, f.timers
	f.mu.Unlock()
	if f.fresh[f.current]++; before+1 >= measuredDispatches || len(timers) == 0 {
		delete(f.fresh, f.current)
	}
	if before == 0 {
		for _, watch := range watchers {
			if done := (*watch)(f.current); done != nil {
				f.begun = append(f.begun, done)
			}
		}
	}
	if len(timers) > 0 {
		f.measure(gl, timers)
	}
}

// fence makes a fence follow what has begun.
func (f *firstDispatches) fence(fence Fence) {
	if len(f.begun) == 0 {
		return
	}
	if f.fenced == nil {
		f.fenced = map[Fence][]func(){}
	}
	f.fenced[fence] = f.begun
	f.begun = nil
}

// finish ends what a fence follows that is signalled or of no interest any more.
func (f *firstDispatches) finish(fence Fence) {
	if len(f.fenced) == 0 {
		return
	}
	for _, done := range f.fenced[fence] {
		done()
	}
	delete(f.fenced, fence)
}

// finishAll ends everything: the GPU is idle.
func (f *firstDispatches) finishAll() {
	for fence := range f.fenced {
		f.finish(fence)
	}
	for _, done := range f.begun {
		done()
	}
	f.begun = nil
}
