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
package cache
