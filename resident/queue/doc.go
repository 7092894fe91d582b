// Package queue has bounded work queues that live on the GPU.
//
// Items are a few words each. Kernels take them, work on them, and push further
// items; the host pushes some and runs rounds until nothing is left. Every item
// is worked on exactly once.
//
// # Rounds
//
// GL promises nobody that another work group makes progress, so nobody waits for
// items. A round is three dispatches, and many rounds are issued at once:
//
//	plan    counts what is left and what was pushed, and writes the group counts
//	        of the two that follow: nothing left, no groups
//	gather  what was left and what was pushed becomes the next round's items
//	run     takes items, each invocation a bounded number, and works on them
//
// During a round the items are fixed: taking is one atomic addition, taken back
// where nothing was there. What an item pushes is worked on in a later round. So
// no push ever meets a take, and an index cannot be given twice (ABA).
//
//	Order     an invocation takes             within a round and between rounds
//	FIFO      the oldest                      what was left, then what was pushed
//	LIFO      the newest                      what was pushed, then what was left
//	Priority  the oldest of the first level   as FIFO, level by level
//
// # Stealing
//
// With Options.Steal the items of a round are dealt out to the groups evenly. A
// group works on its own; without any it steals from the others by compare and
// swap, but leaves each owner its last one. So every group that was dealt
// something works, and none is idle while others are behind.
//
// # Room
//
// An item has its room until it has finished. One that pushes reserves the room
// first, and where there is none it is put back, to be tried again later, behind
// all others: nothing is lost. A queue in which no item can finish any more is an
// error of Run, and the items stay.
//
// # Items in GLSL
//
// The user's text works on one item. It must define
//
//	bool queueRun(uint level, uint item[QUEUE_WORDS])
//
// and return true when the item is finished, or false to have it put back, before
// anything was written or pushed. It may call
//
//	bool queueReserve(uint n)                                  room for n more; false: return false
//	void queuePush(uint level, uint item[QUEUE_WORDS])         after queueReserve, at most n times
//
// It may declare storage blocks from binding QUEUE_FIRST_BINDING on and uniforms
// of its own. All of its loops need a bound: some drivers end an invocation's
// loops silently after 65,535 turns, and Options.Takes items share them.
package queue
