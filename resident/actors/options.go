//go:build linux

package actors

import (
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/executor"
)

// FirstBinding is the first storage binding that handlers may use.
const FirstBinding = 5

// Handler is the code of one kind of actor.
type Handler struct {
	Name string // an identifier: GLSL sees HANDLER_ and the name as a number
	Text string // GLSL without #version: see the package documentation
}

// Barrier is a named barrier: who arrives does not run until Parties have.
type Barrier struct {
	Name    string // an identifier: GLSL sees BARRIER_ and the name as a number
	Parties uint32
}

// Options configure a world. Handlers is needed, the rest has defaults.
type Options struct {
	// Device is the number of the world among those of a Router.
	Device uint8

	// Handlers are the kinds of actors, at most 8. Another set is another
	// program, which comes from the cache: see World.SetHandlers.
	Handlers []Handler

	// Barriers are the named barriers, at most 32.
	Barriers []Barrier

	// Memory is bound for storage blocks of the handlers, from FirstBinding on,
	// and must outlive the world. Uniforms are theirs.
	Memory   []executor.Bound
	Uniforms []executor.Uniform

	// Slots is how many actors there may be. Default: 1024; at most 1<<20.
	Slots int

	// StateWords is the number of words of an actor's state. Default: 16; at most 256.
	StateWords int

	// Depth is how many messages a mailbox holds, for each of two ticks.
	// Default: 16; at most 1024.
	Depth int

	// Payload is the number of words of a message, besides sender and kind.
	// Default: 4; at most 60.
	Payload int

	// Broadcasts is how many broadcasts there may be in a tick. Default: 4; at
	// most 64.
	Broadcasts int

	// Outbox is how many messages to the host and to other devices there may be
	// until the host looks, which is after each Step. Default: 256; at most 4096.
	Outbox int

	// RequestTicks is how many ticks a Request waits for its reply. Default: 64.
	RequestTicks int
}

const (
	maxHandlers = 8
	maxBarriers = 32
)

func (o Options) withDefaults() (Options, error) {
	for _, l := range []struct {
		name            string
		value           *int
		normal, largest int
	}{
		{"Slots", &o.Slots, 1024, 1 << 20},
		{"State", &o.StateWords, 16, 256},
		{"Depth", &o.Depth, 16, 1024},
		{"Payload", &o.Payload, 4, 60},
		{"Broadcasts", &o.Broadcasts, 4, 64},
		{"Outbox", &o.Outbox, 256, 4096},
		{"RequestTicks", &o.RequestTicks, 64, 1 << 20},
	} {
		if *l.value == 0 {
			*l.value = l.normal
		}
		if *l.value < 1 || *l.value > l.largest {
			return o, fmt.Errorf("actors: Options.%s is %d, it may be 1 to %d", l.name, *l.value, l.largest)
		}
	}
	return o, o.validate()
}

func (o Options) validate() error {
	if o.StateWords < 4 {
		return fmt.Errorf("actors: Options.State is %d, a new actor is given 4 words", o.StateWords)
	}
	if n := len(o.Handlers); n < 1 || n > maxHandlers {
		return fmt.Errorf("actors: %d handlers, there may be 1 to %d", n, maxHandlers)
	}
	if n := len(o.Barriers); n > maxBarriers {
		return fmt.Errorf("actors: %d barriers, there may be %d", n, maxBarriers)
	}
	for i, h := range o.Handlers {
		if o.handler(h.Name) != i {
			return fmt.Errorf("actors: two handlers have the name %q", h.Name)
		}
	}
	for i, b := range o.Barriers {
		if b.Parties == 0 {
			return fmt.Errorf("actors: barrier %q is of no parties", b.Name)
		}
		if slices.IndexFunc(o.Barriers, func(c Barrier) bool { return c.Name == b.Name }) != i {
			return fmt.Errorf("actors: two barriers have the name %q", b.Name)
		}
	}
	return nil
}

// handler is the number of a handler, -1 where there is none of the name.
func (o Options) handler(name string) int {
	return slices.IndexFunc(o.Handlers, func(h Handler) bool { return h.Name == name })
}

// messageWords is the size of a message on the device.
func (o Options) messageWords() int { return messageHeader + o.Payload }

const (
	messageHeader  = 4 // sender (2), kind, published
	envelopeHeader = 2 // receiver
)
