//go:build linux

package actors

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/job"
)

// FirstBinding is the first storage binding that handlers may use.
const FirstBinding = 5

// Handler is the code of one kind of actor.
type Handler struct {
	Name string // an identifier: GLSL has the define HANDLER_ and the name, a number
	Text string // GLSL without #version: see the package documentation

	// Loops bounds the loop turns of one call of its functions: a loop of n turns counts
	// n + 1 each time that it is run. Software drivers end loops silently after 65,535 of
	// them, over all the messages of an actor in a tick: where one handler declares loops,
	// New and SetHandlers fail if a full mailbox would pass that. Step finds handlers that
	// do. Default: 0, no loops.
	Loops uint32
}

// Barrier is a named barrier: an actor that arrives does not run again until Parties
// actors have arrived.
type Barrier struct {
	Name    string // an identifier: GLSL has the define BARRIER_ and the name, a number
	Parties uint32
}

// Options configure a world. Handlers is required, the other fields have defaults.
type Options struct {
	// Device is the number of the world among those of a Router.
	Device uint8

	// Handlers are the kinds of actors, at most 8. World.SetHandlers replaces them
	// with another program.
	Handlers []Handler

	// Barriers are the named barriers, at most 32.
	Barriers []Barrier

	// Memory is bound to storage blocks of the handlers, from FirstBinding on, and
	// must outlive the world. Uniforms are the values of their uniforms.
	Memory   []job.Bound
	Uniforms []job.Uniform

	// Slots is the largest number of actors. Default: 1024; at most 1<<20.
	Slots int

	// StateWords is the number of words of an actor's state. Default: 16; 4 to 256.
	StateWords int

	// Depth is the number of messages that a mailbox holds, for each of two ticks, and for
	// all ticks in which its actor waits at a barrier.
	// Default: 16; at most 1024.
	Depth int

	// Payload is the number of words of a message, without sender and kind.
	// Default: 4; at most 60.
	Payload int

	// Broadcasts is the largest number of broadcasts in a tick. Default: 4; at most
	// 64.
	Broadcasts int

	// Outbox is the number of messages to the host and to other devices that a
	// submission may send. Default: 256; at most 4096.
	Outbox int

	// RequestTicks is the number of ticks that a Request waits for its reply.
	// Default: 64.
	RequestTicks int

	// Check computes a known answer, since some drivers accept a program binary and then
	// compute wrong results: it spawns actors, does a few steps, and returns an error where
	// states or the report are not what is right. It leaves Memory as it was. New calls it
	// with a world of its own, once for each binary of the handlers that is loaded; after
	// an error it compiles the program. SetHandlers does not call it. The other programs of
	// a world have a check of their own. Default: none.
	Check func(ctx context.Context, w *World) error
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
		{"StateWords", &o.StateWords, 16, 256},
		{"Depth", &o.Depth, 16, 1024},
		{"Payload", &o.Payload, 4, 60},
		{"Broadcasts", &o.Broadcasts, 4, 64},
		{"Outbox", &o.Outbox, 256, 4096},
		{"RequestTicks", &o.RequestTicks, 64, 1 << 20},
	} {
		*l.value = cmp.Or(*l.value, l.normal)
		if *l.value < 1 || *l.value > l.largest {
			return o, fmt.Errorf("actors: Options.%s is %d, it may be 1 to %d", l.name, *l.value, l.largest)
		}
	}
	return o, o.validate()
}

func (o Options) validate() error {
	if o.StateWords < 4 {
		return fmt.Errorf("actors: Options.StateWords is %d, but a new actor has 4 words", o.StateWords)
	}
	if n := len(o.Handlers); n < 1 || n > maxHandlers {
		return fmt.Errorf("actors: %d handlers: must be 1 to %d", n, maxHandlers)
	}
	if n := len(o.Barriers); n > maxBarriers {
		return fmt.Errorf("actors: %d barriers: at most %d are possible", n, maxBarriers)
	}
	for i, h := range o.Handlers {
		if o.handler(h.Name) != i {
			return fmt.Errorf("actors: two handlers have the name %q", h.Name)
		}
	}
	for i, b := range o.Barriers {
		if b.Parties == 0 {
			return fmt.Errorf("actors: barrier %q has 0 parties", b.Name)
		}
		if slices.IndexFunc(o.Barriers, func(c Barrier) bool { return c.Name == b.Name }) != i {
			return fmt.Errorf("actors: two barriers have the name %q", b.Name)
		}
	}
	return nil
}

// handler returns the number of a handler, or -1 where none has the name.
func (o Options) handler(name string) int {
	return slices.IndexFunc(o.Handlers, func(h Handler) bool { return h.Name == name })
}

// messageWords returns the size of a message on the device.
func (o Options) messageWords() int { return messageHeader + o.Payload }

// envelopeWords returns the words of a message in the outbox.
func (o Options) envelopeWords() int { return envelopeHeader + o.messageWords() }

const (
	messageHeader  = 4 // sender (2), kind, published
	envelopeHeader = 2 // receiver
)
