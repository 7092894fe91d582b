// Package executor runs jobs on the GPU without making anybody wait: inputs go
// up, programs run, outputs come down, all of it side by side.
//
// [Executor.Submit] takes a [Job] and returns at once with a [Pending];
// [Pending.Wait] hands the outputs over. In between nothing blocks the GL
// thread: it looks at fences, and sleeps when there is nothing to see.
//
// # Slots
//
// An executor owns Options.Depth slots. A slot is memory, the same twice: mapped
// memory that the host writes and reads, and device memory that kernels work on,
// so that no kernel waits for the bus. A job takes a piece of a slot for its
// inputs and outputs and keeps it until its result was waited for or released.
//
//	Submit   checks the job, reserves a piece of the slot, copies the inputs
//	         into mapped memory, or lets the caller produce them there
//	pump     on the GL thread: starts what is ready, looks at the oldest fence
//	Wait     copies the outputs out of mapped memory, or shows them there
//
// # Batches
//
// A fence and a flush cost more than a small kernel, so jobs travel in batches:
// one copy up, the kernels, one barrier, one copy down, one fence. No timer
// decides how many: when the GPU has nothing behind what it works on, the batch
// that is there starts, be it one job; otherwise it grows. A lone job does not
// wait, and under load the batches grow by themselves.
//
// # Stages
//
// Copies by the driver do not run beside kernels of the same context, not even
// with several slots. Copies by a kernel do. So batches of many bytes
// move through three stages, and a stage runs the parts of three batches at once:
//
//	stage        1       2       3       4
//	copy up      batch a batch b batch c
//	kernels              batch a batch b batch c
//	copy down                    batch a batch b
//
// # Looking
//
// Nobody is told when the GPU has finished, and the driver's own waiting spins.
// So the GL thread looks at the oldest fence when it is expected to be reached,
// and learns from what it sees how long such stages take:
//
//	up to 300 us    it looks again and again, and Wait looks for up to 60 us
//	                before it sleeps: sleeping and waking would take longer
//	longer          it sleeps until then; about one look in ten is in vain
//	MaxDelay        it sleeps for longer while the GPU has work, so that one look
//	                serves several jobs
//
// # Order
//
// Jobs complete in the order of Submit. Jobs of a batch may run side by side on
// the GPU, except that a barrier stands between two that use the same [Memory]
// when one of them writes it, and between the dispatches of one job.
//
// # Threads
//
// All methods of an Executor may be called from any goroutine, but not from a
// callback of glctx.Context.Do or Post: what has to wait there panics. On the
// thread of an adopted context, whoever waits polls meanwhile. A Pending belongs
// to one goroutine at a time.
package executor
