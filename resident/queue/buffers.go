//go:build linux

package queue

import (
	"errors"

	"github.com/shadercache/shadercache/executor"
)

// Words of QueueState in queue.glsl.
const (
	lineWords    = 16
	creditsWord  = 0
	runGroupsAt  = 4 * lineWords
	gatherAt     = runGroupsAt + 4*4
	headerLines  = 3
	loopsCutWord = 7 // of QueueReport in queue_plan.comp
	reportHeader = 8
)

// queueBuffers are the buffers of a queue on the device.
type queueBuffers struct {
	state  *executor.Buffer[uint32]
	items  [2]*executor.Buffer[uint32] // of this round and of the next one, alternating
	pushed *executor.Buffer[uint32]
	groups *executor.Buffer[uint32]
}

func newQueueBuffers(e *executor.Executor, o Options) (m queueBuffers, err error) {
	state := make([]uint32, lineWords*(headerLines+o.Levels+o.Levels*o.ranges()))
	state[creditsWord] = uint32(o.Capacity)
	items := o.Levels * o.Capacity * o.Words
	var errs [5]error
	m.state, errs[0] = executor.BufferOf(e, state)
	m.items[0], errs[1] = executor.NewBuffer[uint32](e, items)
	m.items[1], errs[2] = executor.NewBuffer[uint32](e, items)
	m.pushed, errs[3] = executor.NewBuffer[uint32](e, items)
	m.groups, errs[4] = executor.BufferOf(e, make([]uint32, lineWords*o.Groups))
	if err := errors.Join(errs[:]...); err != nil {
		m.release()
		return queueBuffers{}, err
	}
	return m, nil
}

func (m *queueBuffers) release() {
	for _, b := range []*executor.Buffer[uint32]{m.state, m.items[0], m.items[1], m.pushed, m.groups} {
		if b != nil {
			b.Release()
		}
	}
}
