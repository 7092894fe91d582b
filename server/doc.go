//go:build linux

// Package server keeps one OpenGL context, its programs, weights and buffers in one
// process for many: clients connect through a unix socket, send jobs and read results, as
// docs/protocol.md defines. Package client is one in Go.
//
// # Sessions
//
// A connection is a session. Three goroutines serve it:
//
//	read      reads frames; answers cancel; submits small jobs where nothing is before
//	          them; queues everything else, in order
//	handle    takes requests of the queue: makes objects, takes a turn, submits jobs
//	complete  waits for jobs in the order of their submission and answers them; for the
//	          only job of a ring the goroutine that reads it does
//
// A session owns its objects, which one of read and handle uses at a time; a fourth
// goroutine writes replies
// where the client does not read them at once. No goroutine of one session waits for
// another client, except for its turn.
//
// # Turns
//
// Jobs take a part of the executor's memory. handle acquires it from a semaphore that
// serves its waiters first come, first served. Each session has one handle, hence one
// waiter at a time: where sessions compete they take turns, whatever number of jobs each
// has sent. A session whose jobs take long has few of them on the GPU at a time, so that
// a turn comes soon.
//
// # Failure
//
// Each request is answered once: by its result, its deadline, a cancel or an error,
// whichever comes first. When the context is lost, or nothing on the GPU completes for
// Options.HangTime, nothing of this process can be used any more: all sessions end with
// an error that says so, and Serve returns a [*LostError]. Package supervisor runs the
// server in a child process and starts another one then.
//
// # Several GPUs
//
// A server of several GPUs is a process with a Server for each: package placement passes
// their clients to them, so that a loss ends the sessions of one GPU alone. [Options.Device]
// is the one that a Server has, and [Options.Names] keeps named buffers on one of them.
package server
