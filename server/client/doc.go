//go:build linux

// Package client uses the programs, buffers and GPU of a running shadercache server, in
// Go without cgo and without OpenGL: a process that is a client starts in milliseconds,
// because the server has the context.
//
// [Dial] opens a session. [Client.Program] gets a program; [Client.Submit] sends a [Job]
// and returns a [Pending], whose Wait delivers the outputs. [Memory] is memory that client
// and server share, for data that is not to be copied through the socket. [Buffer] is
// memory of the GPU, [Plan] a convolution, matrix product or network; those with a name
// outlive the client.
//
// # Deadlines
//
// A context with a deadline gives the server the same deadline, which answers in time. A
// context that ends while a call waits ends the wait; [Client.Run] and Release then wait for the
// server's answer to the cancel, since memory of the caller may be written until then: of a server
// that is stopped some 10 s, until it counts as gone.
//
// # Errors
//
// Errors of the server match the sentinels of this package by errors.Is and are [*Error]
// with a hint. A program that does not compile is a *shader.CompileError. When the server
// ends or restarts, every call returns an error that matches [ErrServerGone], and
// everything of the session is gone: Dial again. Welcome.Ended of the new session tells
// why the server's worker ended.
//
// A Client, and what it makes, may be used from any goroutine, except for a Pending,
// which belongs to one at a time.
package client
