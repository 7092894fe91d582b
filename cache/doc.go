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
//	a blob is damaged              find.go counts it, binary/rejected.go moves it to rejected/;
//	                               the next request asks upstream, where one that is damaged
//	                               counts as missing
//	the driver refuses a blob      load.go: counted, rejected; where it refuses most, later starts
//	                               use no binaries for 30 days (binary/refusals.go)
//	a blob makes another program   load.go: counted, rejected
//	a blob gave a wrong answer     load.go: counted, rejected, where the source has a check
//	                               (Source.WithCheck) that the blob has not passed; make.go,
//	                               check.go: the check is run on what was compiled. Where that
//	                               fails too the error is a WrongAnswerError, nothing is stored,
//	                               and each later request compiles and checks again
//	a source failed before         policy.go: its error again, from memory; from the directory,
//	                               for 30 days, only with Options.KeepCompileErrors, which
//	                               shadercache preload sets
//	the process died while the     crash_guard.go: a suspect; policy.go: a child tries it
//	driver had the program         (trial.go), or this process, alone. What survives is no suspect
//	                               any more, what crashes is refused for a day, what hangs for a
//	                               minute, twice as long each time (binary/quarantine.go)
//	a child dies of a program      isolate/run.go (childLost): once more in a child with an empty
//	                               driver's cache, and refused where it crashes there too; else
//	                               the driver's cache is set aside. A hang is refused, what no
//	                               child can answer is compiled here, alone
//	                               (isolate/verdict.go). The others go on with the next child
//	the context of a Get ends      flight.go: the flight goes on, for the next Get
//	two want one program           flight.go: goroutines make it once; so do devices with
//	                               Options.SingleFlight and processes with ShareCompiles (children
//	                               always); others each, and the last write, a rename, stays
//	memory of the GPU is short     load.go, make.go: programs without handles go, once more; a
//	                               load that fails then is compiled, a compile an error
//	the disk is full               writer.go: counted, and logged once, not tried again; the next
//	                               start compiles; in a child an error, isolate.ErrNotStored
//	a record cannot be read        binary/records.go: it is as if it was not there, until the next
//	                               one replaces it. The index (binary/record.go) is made again,
//	                               with the totals of cache_stats.json
//	a pack arrives late            before_first.go: the first request waits for
//	                               Options.BeforeFirst, a pull within its budget, which
//	                               then goes on (fleet/start.go); later misses find its programs,
//	                               and the next start all of its machine code
package cache
