// Package executor runs jobs on the GPU asynchronously: inputs are copied up,
// programs run and outputs are copied down, side by side.
//
// [Executor.Submit] takes a [Job] and returns at once with a [Pending];
// [Pending.Wait] delivers the outputs. In between nothing blocks the GL thread: it
// polls fences, and sleeps between polls.
//
// # Slots
//
// An executor owns Options.Depth slots. A slot is two blocks of memory with the same
// layout: mapped memory, which the host writes and reads, and device memory, which
// kernels use, so that no kernel waits for the bus. A job occupies a part of a slot
// until its result was waited for or released.
//
//	Submit   checks the job, reserves its place in the slot and copies the inputs
//	         into mapped memory, or lets the caller's Fill write them there
//	pump     on the GL thread, before callbacks that wait: starts batches that are ready,
//	         polls the oldest fence
//	Wait     copies the outputs from mapped memory, or passes them to Read there
//
// Data of 4 MiB and more is copied by up to four goroutines. Where a job of up to 16 KiB each
// way is alone on the GPU, its kernel may use the mapped memory itself: that saves two copies,
// and takes longer where kernels read the same words many times. The executor measures both
// for each kind of job, and keeps the faster.
//
// # Batches
//
// A fence and a flush cost more than a small kernel, so jobs run in batches:
// one copy up, the kernels, one barrier, one copy down, one fence. The size of a
// batch adapts to the load, without a timer: when the GPU has nothing queued behind
// the batch that it runs, the open batch starts, with one job or more; otherwise it
// grows, by jobs that are known to be short. A single job is not delayed.
//
// # Stages
//
// Copies by the driver do not run beside kernels of the same context, not even
// with several slots. Copies by a kernel do. So batches with many bytes pass
// through three stages, and the GPU runs the parts of three batches at once:
//
//	stage        1       2       3       4
//	copy up      batch a batch b batch c
//	kernels              batch a batch b batch c
//	copy down                    batch a batch b
//
// # Polling
//
// OpenGL has no notification of a finished fence, and waiting in the driver spins.
// So the GL thread polls the oldest fence when it expects it to be signalled, and
// estimates from the results how long such stages take:
//
//	up to 300 us    it spins, and Wait spins for up to 60 us before it sleeps:
//	                sleeping and waking would take longer
//	longer          it sleeps until then; about one poll in ten comes too early. Up to
//	                2 ms its thread and that of Wait sleep in the kernel, where Go has
//	                four processors or more: that wakes two threads a job. What is
//	                submitted while the GPU has a long stage behind the one that runs
//	                waits for the next poll
//	MaxDelay        it sleeps for longer while the GPU has work, so that one poll
//	                serves several jobs
//
// # Order
//
// Jobs complete in the order of Submit. Jobs of a batch may run side by side on
// the GPU. A barrier stands between two of them that use the same [Memory], where
// one of the two writes it, and between the dispatches of one job.
//
// # Calls of the host
//
// Where the driver runs kernels on the CPU, a dispatch may cost more than its work. There a
// part of a job may be a [HostCall]: the host computes in the mapped memory of its buffers, on
// the GL thread, which does nothing else meanwhile.
//
// # Loops
//
// A software driver may end the loops of an invocation silently after a number of turns:
// llvmpipe after 65,535. Neither the executor nor the lint finds that in a kernel: results
// are wrong, without an error. Split such work into several dispatches, or use package
// resident, which finds it. The kernels of package conv2d stay below the limit.
//
// # Threads
//
// All methods of an Executor may be called from any goroutine, but not from a
// callback of glctx.Context.Do or Post: methods that wait panic there. On the
// thread of an adopted context they poll the context while they wait. A Pending
// belongs to one goroutine at a time.
package executor
