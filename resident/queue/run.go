//go:build linux

package queue

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/resident/internal/loops"
)

// maxIdleSubmissions is the number of successive submissions in which no item finishes
// before Run returns ErrStuck. Concurrent reservations can fail each other, so one is
// not enough.
const maxIdleSubmissions = 4

// Run runs rounds until the queue is empty, with the items that are pushed meanwhile.
// It returns ErrStuck when no item can finish, ErrUnreserved when one pushed without a
// reservation, resident.ErrLoopLimit when the driver ended a loop early, shader.ErrClosed, ctx.Err() between two submissions, and the errors of the
// executor. The report is that of the last submission.
func (q *Queue) Run(ctx context.Context) (Report, error) {
	q.running.Lock()
	defer q.running.Unlock()
	idle := 0
	for {
		before := q.lastReport.Finished
		if err := q.submitRounds(ctx, q.options.Rounds); err != nil {
			return q.lastReport, err
		}
		if q.remaining() == 0 {
			return q.lastReport, nil
		}
		if idle++; q.lastReport.Finished != before {
			idle = 0
		}
		if idle == maxIdleSubmissions {
			return q.lastReport, fmt.Errorf("%w: %d items of %d", ErrStuck, q.lastReport.Items, q.options.Capacity)
		}
	}
}

// RunRounds runs n rounds, at most 64. It returns the errors of Run except ErrStuck.
func (q *Queue) RunRounds(ctx context.Context, n int) (Report, error) {
	if n < 1 || n > 64 {
		return Report{}, fmt.Errorf("queue: %d rounds: must be 1 to 64", n)
	}
	q.running.Lock()
	defer q.running.Unlock()
	err := q.submitRounds(ctx, n)
	return q.lastReport, err
}

// remaining returns the number of unfinished items, on the device and pending.
func (q *Queue) remaining() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.onDevice + q.mu.pendingCount
}

// submitRounds submits n rounds and waits for them. running must be locked.
func (q *Queue) submitRounds(ctx context.Context, n int) error {
	up, err := q.takePending()
	if err != nil {
		return err
	}
	parity := q.parity
	report := make([]uint32, reportHeader+q.options.Levels)
	pending, err := q.executor.Submit(ctx, q.roundsJob(n, up, report))
	if err != nil {
		q.parity = parity
		q.returnPending(up)
		return fmt.Errorf("queue: %w", err)
	}
	// The rounds run also when ctx ends, and their report is needed.
	if err := pending.Wait(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("queue: %w", err)
	}
	q.readReport(report)
	if report[loopsCutWord] != 0 {
		return fmt.Errorf("%w: it ended a loop early, so results of items are wrong: Item.Loops is %d, declare the loop turns of an item, or divide the items", loops.ErrTooLong, q.item.Loops)
	}
	if q.lastReport.Unreserved > 0 {
		return fmt.Errorf("%w (%d times)", ErrUnreserved, q.lastReport.Unreserved)
	}
	return ctx.Err()
}

// roundsJob returns the job of an upload and n rounds. The last plan and gather leave the
// queue in the state in which items may be uploaded.
func (q *Queue) roundsJob(n int, up upload, report []uint32) job.Job {
	var all []job.Dispatch
	if up.longest > 0 {
		all = append(all, job.Dispatch{
			Program: q.programs.push,
			Groups:  [3]uint32{uint32(up.longest+63) / 64, uint32(q.options.Levels), 1},
			Buffers: []job.Bound{q.buffers.state.Bind(0), q.buffers.pushed.Bind(2)},
		})
	}
	all = append(all, q.planAndGather()...)
	for range n {
		all = append(all, q.runDispatch())
		all = append(all, q.planAndGather()...)
	}
	j := job.Job{Dispatch: all[0], Then: all[1:]}
	j.Outputs = []job.Output{{Binding: 2, Dirty: true, To: glctx.Bytes(report)}}
	if up.longest > 0 {
		j.Inputs = []job.Input{{Binding: 1, Data: glctx.Bytes(up.encode())}}
	}
	return j
}

// planAndGather returns the plan and gather dispatches, and swaps the item buffers.
func (q *Queue) planAndGather() []job.Dispatch {
	before, next := q.buffers.items[q.parity], q.buffers.items[1-q.parity]
	q.parity = 1 - q.parity
	return []job.Dispatch{
		{Program: q.programs.plan, Groups: [3]uint32{1, 1, 1}, Buffers: []job.Bound{q.buffers.state.Bind(0)}},
		{
			Program:  q.programs.gather,
			Indirect: &job.Indirect{Buffer: q.buffers.state.Memory, Offset: gatherAt},
			Buffers:  []job.Bound{q.buffers.state.Bind(0), before.BindReadOnly(1), q.buffers.pushed.BindReadOnly(2), next.Bind(3)},
		},
	}
}

func (q *Queue) runDispatch() job.Dispatch {
	memory := append([]job.Bound(nil), q.item.Memory...)
	memory[1] = q.buffers.items[q.parity].BindReadOnly(1)
	return job.Dispatch{
		Program:  q.programs.run,
		Indirect: &job.Indirect{Buffer: q.buffers.state.Memory, Offset: runGroupsAt},
		Buffers:  memory,
		Uniforms: q.item.Uniforms,
	}
}

// readReport reads the report that queue_plan wrote.
func (q *Queue) readReport(words []uint32) {
	q.lastReport = Report{
		Items:      int(words[0]),
		Finished:   extendCounter(q.lastReport.Finished, words[2]),
		Returned:   extendCounter(q.lastReport.Returned, words[3]),
		Refused:    extendCounter(q.lastReport.Refused, words[4]),
		Unreserved: extendCounter(q.lastReport.Unreserved, words[5]),
		Rounds:     extendCounter(q.lastReport.Rounds, words[6]),
	}
	for _, n := range words[reportHeader:] {
		q.lastReport.Levels = append(q.lastReport.Levels, int(n))
	}
	q.mu.Lock()
	q.mu.onDevice = q.options.Capacity - int(int32(words[1])) // credits return when items finish
	q.mu.Unlock()
}

// extendCounter returns a 64-bit counter whose low word has become low. It is right as
// long as the counter grows by less than 1<<32 between two reports.
func extendCounter(before uint64, low uint32) uint64 { return before + uint64(low-uint32(before)) }
