// Package cache keeps compute programs resident and ready to run.
//
// [Cache.Get] returns a [Handle] to a program that is linked and primed: from
// memory, else from the program binary on disk, else by compiling it. Handles
// are counted; a program without handles stays resident until the cache needs
// its room. A cache failure is never fatal: it is counted and the program is
// compiled.
//
// The package is pure Go. It drives OpenGL through [Device], which
// *glctx.Context satisfies, and the disk through [Store], which *binary.Store
// satisfies. All methods may be called from any goroutine, but never from
// inside a callback of glctx.Context.Do or Post: calls that have to wait panic
// there. On the thread of an adopted context they do its work while they wait:
// see Device.PollWhile.
//
// # When something fails
//
// The table has what follows for the program, and the file. A program is compiled
// unless it says otherwise.
//
//	a blob is damaged              find.go: it is moved to rejected/ and counted
//	the driver refuses a blob      load.go: the same
//	a blob makes another program   load.go: the same
//	a blob gave a wrong answer     load.go: the same; make.go, check.go: the check is run
//	                               again, and a WrongAnswerError where that fails too
//	a source failed before         policy.go: its error again, from memory, or with
//	                               Options.KeepCompileErrors from the directory
//	the process died meanwhile     crash_guard.go: a suspect; policy.go: a child tries it
//	                               (trial.go), or this process, alone; what crashed the
//	                               driver is refused for a day
//	a child dies                   isolate: the program is tried once more or refused, and
//	                               the others go on with the next child
//	the context of a Get ends      flight.go: the flight goes on, for the next Get
//	two want one program           flight.go: goroutines, devices and processes that share
//	                               make it once; processes that do not, each, and the
//	                               last write stays
//	memory of the GPU is short     load.go: programs without handles go, once more; then an error
//	the disk is full               writer.go: counted, and logged once; the next start compiles
//	a record cannot be read        binary: it is as if it was not there
//	a pack arrives late            before_first.go: the first request waits for
//	                               Options.BeforeFirst; later misses find it
package cache
