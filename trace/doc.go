// Package trace tells where the time of a process was spent: which programs were asked
// for, read, checked, loaded, compiled and primed, on which thread, and what waited for
// them.
//
// The parts of this module have a field Tracer in their Options. They give it an Event
// when a piece of work has ended. Without a Tracer nothing is measured: Begin and End do
// not look at the clock and do not allocate.
//
//	recorder := trace.NewRecorder(0)
//	gpu, err := shadercache.Open(shadercache.Options{Tracer: recorder})
//	...
//	err = trace.WriteChrome(file, recorder.Recording())
//
// The file opens in Perfetto (ui.perfetto.dev), in speedscope and in Chrome's own viewer. With
// SHADERCACHE_TRACE=file the front door, shadercache.Open, writes it when the GPU is closed.
// While Go's execution tracer runs (package runtime/trace), the same pieces of work are
// its regions, with a Tracer and without.
package trace
