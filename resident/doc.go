// Package resident runs compute kernels in steps, with their state in buffers, so that
// they run on across dispatches, and across processes by checkpoints.
//
// A [Kernel] defines a step. A [Session] runs steps: [Session.Run] a number of them,
// [Session.Start] until it is stopped. A [Strategy] determines how steps become
// dispatches. All strategies give the same state, bit for bit:
//
//	strategy     work submitted to the GPU                     the host can intervene after
//	Redispatch   one bounded dispatch after the other          each dispatch
//	Double       the same, with one more queued on the GPU     two dispatches
//	Triple       the same, with two more queued                three dispatches
//	Chain        many indirect dispatches at once; a kernel    the chain; the rest of a chain
//	             that has ended makes the others empty         costs microseconds
//	Mega         one dispatch with all steps                   the dispatch, bounded in time
//	Persistent   one dispatch that polls mapped memory for     microseconds
//	             commands, until its time slice ends
//
// A dispatch is a tick: each group resumes where it stopped, does at most a budget of
// steps, stores its progress, and the last one writes a status. Between ticks all of the
// state is in buffers, so a session can be inspected, saved as a [Checkpoint], continued
// elsewhere, and preempted by urgent work.
//
// Persistent needs what GL does not guarantee, so it needs [Probe]; without it the session
// runs as Redispatch, and [Session.Mode] returns the reason.
//
// # Kernels
//
// The author of a kernel writes residentStep; main is in kernels/resident.glsl, which
// the kernel includes: see [NewSource]. Its header lists the rules for kernels.
//
// # Threads
//
// All methods of a Session may be called from any goroutine, but not from a callback of
// glctx.Context.Do or Post.
package resident
