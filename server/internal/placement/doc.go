//go:build linux

// Package placement serves the clients of one socket with several GPUs: a worker process for
// each, which a supervisor keeps running, so that one that is lost ends no session of another.
//
// A [Placement] is in the process of the supervisors. It accepts each client, reads its hello,
// and passes the connection with the bytes of the hello to the worker of a device: the one that
// the hello asks for, else the one with the named buffer that it asks for, else the first of
// those with the fewest sessions. From then on client and worker talk without it. A [Worker] is
// the other end, in the worker's process.
//
//	message    from       text, file
//	device     worker     UUID of its GPU; before it serves
//	session    placement  bytes of the hello; the connection
//	page       placement  -; a connection for the status pages
//	ended      worker     -: one session less
//	claim      worker     name of a buffer that it is about to make
//	find       worker     name of a buffer that it does not have
//	drop       worker     name of a buffer that it does not have any more
//	owner      placement  answer to these three: number of the other device that has it, or -1
package placement

// The words of messages.
const (
	wordDevice  = "device"
	wordSession = "session"
	wordPage    = "page"
	wordEnded   = "ended"
	wordClaim   = "claim"
	wordFind    = "find"
	wordOwner   = "owner"
	wordDrop    = "drop"
)
