// Package resident keeps kernels running: what persists is state, and running
// is a bounded view of it.
//
// A [Kernel] does steps. A [Session] has it do so: [Session.Run] for a number of
// them, [Session.Start] until told otherwise. How the steps become dispatches is a
// [Strategy], and all of them give the same state, bit for bit:
//
//	strategy     what is told to the GPU                       the host may step in after
//	Redispatch   one bounded dispatch after the other          each dispatch
//	Double       the same, the next one waits on the GPU       two dispatches
//	Triple       the same with two that wait                   three dispatches
//	Chain        many indirect dispatches at once; a kernel    the chain; a chain that has
//	             that is done makes the others empty           nothing left costs microseconds
//	Mega         one dispatch with all steps                   the dispatch, bounded in time
//	Persistent   one dispatch that looks at mapped memory      microseconds
//	             for orders, until its time slice ends
//
// A dispatch is a tick: each group goes on from where it left off, does at most
// a budget of steps, writes down how far it came, and reports. All that it knows
// lies in buffers then, so between ticks a session can be inspected, saved as a
// [Checkpoint], continued elsewhere, and made to wait for urgent work.
//
// Persistent needs what GL does not promise, so it needs [Probe]; without it the
// session runs as Redispatch, and [Session.Mode] says why.
//
// # Kernels
//
// The author of a kernel writes residentStep; main is in kernels/resident.glsl,
// which [NewSource] puts in front. Its head says what a kernel may do.
//
// # Threads
//
// All methods of a Session may be called from any goroutine, but not from a
// callback of glctx.Context.Do or Post.
package resident
