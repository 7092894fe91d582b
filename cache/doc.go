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
//	a blob is damaged              find.go counts it, binary/store.go moves it to rejected/
//	the driver refuses a blob      load.go: counted, rejected
//	a blob makes another program   load.go: counted, rejected
//	a blob gave a wrong answer     load.go: counted, rejected, where the source has a check
//	                               (Source.WithCheck) that the blob has not passed; make.go,
//	                               check.go: the check is run on what was compiled, and a
//	                               WrongAnswerError where that fails too
//	a source failed before         policy.go: its error again, from memory; from the directory,
//	                               for 30 days, only with Options.KeepCompileErrors, which
//	                               shadercache preload sets
//	the process died while the     crash_guard.go: a suspect; policy.go: a child tries it
//	driver had the program         (trial.go), or this process, alone; what crashed the driver
//	                               is refused for a day (binary/quarantine.go)
//	a child dies of a program      isolate/run.go (childLost), by the table of
//	                               isolate/verdict.go; the others go on with the next child
//	the context of a Get ends      flight.go: the flight goes on, for the next Get
//	two want one program           flight.go: goroutines make it once; so do devices with
//	                               Options.SingleFlight and processes with ShareCompiles,
//	                               others each, and the last write stays
//	memory of the GPU is short     load.go, make.go: programs without handles go, once more; a
//	                               load that fails then is compiled, a compile an error
//	the disk is full               writer.go: counted, and logged once; the next start compiles;
//	                               in a child an error, isolate.ErrNotStored
//	a record cannot be read        binary/records.go: it is as if it was not there
//	a pack arrives late            before_first.go: the first request waits for
//	                               Options.BeforeFirst, a pull within its budget
//	                               (fleet/start.go); later misses find its programs, and the
//	                               next start all of its machine code
package cache
