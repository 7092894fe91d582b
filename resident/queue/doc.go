// Package queue implements bounded work queues on the GPU.
//
// It stands beside package resident because it has the same purpose, work that stays
// on the GPU, but it needs no session: it imports package executor, not resident.
//
// An item is a few words. Kernels take items, process them, and push further items;
// the host pushes items and runs rounds until none are left. Every item is processed
// exactly once.
//
// # Rounds
//
// GL does not promise that a work group makes progress while another waits, so no
// invocation waits for items. A round is three dispatches, and many rounds are
// submitted at once:
//
//	plan    counts the remaining and the pushed items, and writes the group counts
//	        of the next two dispatches: without items, no groups
//	gather  copies the remaining and the pushed items to the items of the next round
//	run     takes items, each invocation a bounded number, and processes them
//
// During a round the items are fixed: taking one is an atomic addition, which is
// undone where no item was left. Items that are pushed are processed in a later round.
// So pushes and takes never meet, and no index is used twice (ABA).
//
//	Order     an invocation takes                  within a round and between rounds
//	FIFO      the oldest                           remaining items, then pushed ones
//	LIFO      the newest                           pushed items, then remaining ones
//	Priority  the oldest of the lowest level       as FIFO, level by level
//
// # Stealing
//
// With Options.Steal the items of a round are divided evenly among the groups. A
// group processes its own; without any it steals from the others by compare and swap,
// but never the last one of an owner. So every group that was given items processes
// some, and none is idle while others have items.
//
// # Capacity
//
// An item occupies its place until it has finished. An item that pushes reserves
// places first. Where there are none it is returned to the queue, after all others, to
// be processed again later: no item is lost. Run returns an error when no item of the
// queue can finish; the items stay in the queue.
//
// # Items in GLSL
//
// The caller's text processes one item. It must define
//
//	bool queueRun(uint level, uint item[QUEUE_WORDS])
//
// and return true when the item is finished, or false to return it to the queue,
// before anything was written or pushed. It may call
//
//	bool queueReserve(uint n)                                  reserves n places; false: return false
//	void queuePush(uint level, uint item[QUEUE_WORDS])         after queueReserve, at most n times
//
// It may declare storage blocks from binding QUEUE_FIRST_BINDING on and uniforms
// of its own. All of its loops need a bound, and Item.Loops declares it: llvmpipe silently
// ends the loops of an invocation after 65,535 turns, over all the items that it takes in
// a round. Run returns resident.ErrLoopLimit where that happened.
package queue
