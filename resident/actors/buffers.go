//go:build linux

package actors

import (
	"errors"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

// Words of the buffers in actors.glsl.
const (
	tickGroupsAt  = 4 * 4 // bytes
	freeWord      = 3
	barriersWord  = 32
	barrierWords  = 4
	liveSlotsWord = barriersWord + barrierWords*maxBarriers
	slotWords     = 16
	postHeader    = 16
)

// worldBuffers are the buffers of a world on the device.
type worldBuffers struct {
	world, slots, mail, states, post *executor.Buffer[uint32]
}

func newWorldBuffers(e *executor.Executor, o Options) (m worldBuffers, err error) {
	var errs [5]error
	m.world, errs[0] = executor.BufferOf(e, o.emptyWorld())
	m.slots, errs[1] = executor.BufferOf(e, o.emptySlots())
	m.mail, errs[2] = executor.BufferOf(e, make([]uint32, 2*o.Slots*(1+o.Depth*o.messageWords())))
	m.states, errs[3] = executor.BufferOf(e, make([]uint32, o.Slots*o.StateWords))
	m.post, errs[4] = executor.BufferOf(e, make([]uint32, postHeader+o.Outbox*o.envelopeWords()+2*o.Broadcasts*o.messageWords()))
	if err := errors.Join(errs[:]...); err != nil {
		m.release()
		return worldBuffers{}, err
	}
	return m, nil
}

// emptyWorld returns a World with all slots in the list of free ones, slot 0 first.
func (o Options) emptyWorld() []uint32 {
	words := make([]uint32, liveSlotsWord+3*o.Slots)
	words[freeWord] = uint32(o.Slots)
	for i, b := range o.Barriers {
		words[barriersWord+barrierWords*i] = b.Parties
	}
	free := words[liveSlotsWord+2*o.Slots:]
	for i := range free {
		free[i] = uint32(o.Slots - 1 - i)
	}
	return words
}

// emptySlots returns free slots of generation 1.
func (o Options) emptySlots() []uint32 {
	words := make([]uint32, slotWords*o.Slots)
	for i := range o.Slots {
		words[slotWords*i+1] = 1
	}
	return words
}

// bound returns the buffers with their bindings.
func (m *worldBuffers) bound() []job.Bound {
	return []job.Bound{m.world.Bind(0), m.slots.Bind(1), m.mail.Bind(2), m.states.Bind(3), m.post.Bind(4)}
}

func (m *worldBuffers) release() {
	for _, b := range []*executor.Buffer[uint32]{m.world, m.slots, m.mail, m.states, m.post} {
		if b != nil {
			b.Release()
		}
	}
}
