package glctx

import "time"

// measuredDispatches is how many dispatches of each program are measured: the first is
// often slower than the others.
const measuredDispatches = 3

// WatchTimes calls watch on the GL thread with the GPU's time for each of the first three
// dispatches of each program that Compile or Load made, once a fence or Finish shows that
// the GPU has finished it, and with the operations that GL.SetOperations gave for it. Two
// timestamps measure a dispatch, which takes some 2 us of the GL thread; later dispatches
// cost nothing. Software drivers, whose timestamps say nothing, and contexts below OpenGL
// 4.5 measure nothing. stop ends it.
func (c *Context) WatchTimes(watch func(program uint32, gpu time.Duration, operations float64)) (stop func()) {
	if !c.full || c.info.Software() && !c.options.timeSoftware {
		return func() {}
	}
	return addWatcher(&c.first.mu, &c.first.timers, watch)
}

// SetOperations says how many arithmetic operations the next dispatch performs, for
// [Context.WatchTimes]. Default: 0, not known.
func (gl *GL) SetOperations(operations float64) { gl.c.first.operations = operations }

// beginDispatch is called before each dispatch.
func (gl *GL) beginDispatch() {
	count(gl.c, &gl.c.counted.Dispatches, 1)
	if len(gl.c.first.fresh) > 0 {
		gl.c.first.begin(gl)
	}
}

// endDispatch is called after each dispatch.
func (gl *GL) endDispatch() {
	f := &gl.c.first
	if f.end.id != 0 {
		gl.WriteTimestamp(f.end)
		f.end = Query{}
	}
	f.operations = 0
}

// measure writes a timestamp before the dispatch that is about to begin, and has the one
// after it written and both read.
func (f *firstDispatches) measure(gl *GL, timers []*func(uint32, time.Duration, float64)) {
	program, operations := f.current, f.operations
	begin, end := gl.NewQuery(), gl.NewQuery()
	gl.WriteTimestamp(begin)
	f.end = end
	f.begun = append(f.begun, func() {
		gpu := gl.Timestamp(end) - gl.Timestamp(begin)
		gl.DeleteQuery(begin)
		gl.DeleteQuery(end)
		if gpu <= 0 {
			return
		}
		for _, watch := range timers {
			(*watch)(program, gpu, operations)
		}
	})
}
