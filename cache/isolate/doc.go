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
//   - What a child answered is stored, so no program is compiled twice, whatever happens
//     to the child afterwards.
//   - A child that dies, or exceeds Pool.Timeout or Pool.MaxMemoryBytes, is replaced. Its
//     program is tried again, refused or fails with a [LostError]: verdict.go says when.
//   - A program is blamed only for what happened while the driver had it, alone.
//   - Nothing that a driver prints disturbs the pool: replies have a descriptor of their
//     own, and what goes to standard output or error comes out on standard error, once.
//   - Every wait has a limit, also where another process holds a child's descriptors.
//   - When the context ends, children complete the program that they compile, store
//     it, and end. They are not killed, because that would look like a driver that died.
//     Children ignore os.Interrupt for the same reason.
//   - When the parent ends in any way, so do its children, and no program is blamed.
package isolate
