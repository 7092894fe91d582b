// Package glctx opens an OpenGL context for compute and runs all GL calls on its
// thread. It is the only package with cgo, unsafe and GL bindings.
//
// # The thread rule
//
// A GL context belongs to one OS thread. A [*GL] exists only inside a callback of
// [Context.Do] or [Context.Post], which runs on that thread, and must not be used
// outside it. Do waits for its callback, Post does not.
//
//	caller          may call                               may wait for the GPU
//	any goroutine   Do, Post, Info, Compile, Load          Do, Compile, Load
//	a callback      methods of GL, Post                    Finish, WaitFence, Download
//
// Do, Compile and Load inside a callback panic: they would wait for the callback
// itself.
//
// # Contexts
//
//	Open                     a headless context, through EGL, on a thread of its own
//	glctx/window             a context with a GLFW window
//	Adopt                    a context that the caller owns, on the caller's thread
//	OpenBeside               a second context that compiles for one of the others
//
// The package compiles without cgo and for every system; these functions then return
// ErrNotBuilt.
//
// # The driver's own cache
//
// Drivers keep the machine code of a program in a cache of their own and not in the
// program binary. Before the first driver library is loaded, [Open] puts that cache
// into the cache directory: see [drivercache.State].
package glctx
