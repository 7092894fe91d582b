// Package isolate compiles programs in child processes, so that a driver that crashes
// or hangs takes one program with it and not the service that asked for it.
//
// A [Pool] starts the children and sends them requests, one line a program. A [Child]
// opens a cache, compiles what it is sent and answers with one JSON object a line. By
// default a child is this executable started again, which calls [Child.Serve] where
// [IsChild] reports true. What children compile is in the cache directory that they
// share, where the next cache finds it.
//
// # Guarantees
//
//   - Every request gets one [Result], unless a child cannot start or the context ends.
//   - A child that dies is replaced. Its program is tried once more with the next
//     child, and what the child compiled before is compiled again, since it may not
//     have reached the disk.
//   - A child that needs longer than Pool.Timeout for a program is killed and replaced
//     in the same way.
//   - A program is blamed only for what happened while the driver had it. Where a
//     signal such as SIGSEGV ended the child, the cause is certain: the program is in
//     quarantine after that one crash, and the next child refuses it
//     (binary.ErrQuarantined). Where the child was killed or ran out of time, there may
//     be another cause, and it takes a second loss.
//   - When the context ends, children complete the program that they compile, store
//     it, and end. They are not killed, because that would look like a driver that died.
//     Children ignore os.Interrupt for the same reason.
package isolate
