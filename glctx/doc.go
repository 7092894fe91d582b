// Package glctx opens an OpenGL context for compute and owns the thread that
// it lives on. It is the only package with cgo, unsafe and GL bindings.
//
// # The thread rule
//
// A GL context belongs to one OS thread. A [*GL] exists only inside a callback
// of [Context.Do] or [Context.Post]: having one means that you are on that
// thread. It must not leave the callback. Do waits for its callback, Post does
// not. Do inside a callback would wait for itself for ever, so it panics.
//
//	who                     calls                            may block on the GPU
//	any goroutine           Do, Post, Info, Compile, Load    Do, Compile, Load: yes
//	a callback              methods of GL                    Finish, WaitFence, Download
//	nobody                  Do inside a callback             panics
//
// # Three ways to a context
//
// [Open] makes one without a display, through EGL; package glctx/window makes
// one with a GLFW window; [Adopt] uses one that the caller has already.
//
// # The driver's own cache
//
// The machine code of a program lives in the driver's own cache and not in its
// program binary. Before the first driver library is loaded, Open points that
// cache at a directory that we own: see [drivercache.State].
package glctx
