//go:build linux

package actors

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
)

// What an order asks for, in actors_order.comp.
const (
	commandSend uint32 = iota
	commandSpawn
	commandTerminate
	commandRestart
)

// maxCommands is how many orders travel at once, so that they fit into a slot of
// the executor.
const maxCommands = 1024

// commandResult is what the device says to an order.
type commandResult struct {
	code uint32
	who  Address
}

// resultErrors are the errors for the answers' codes, ActorOK and so on.
var resultErrors = [...]error{nil, ErrFull, ErrStale, ErrNoSlot, ErrElsewhere}

func (a commandResult) err() error {
	if int(a.code) >= len(resultErrors) {
		return fmt.Errorf("actors: the device answered with code %d", a.code)
	}
	return resultErrors[a.code]
}

// Spawn makes an actor with a handler and up to four words of state; the others
// are 0. It is live in the next tick. It returns ErrNoSlot, wrapped.
func (w *World) Spawn(ctx context.Context, handler string, words ...uint32) (Address, error) {
	all, err := w.SpawnAll(ctx, handler, words)
	if err != nil {
		return Address{}, err
	}
	return all[0], nil
}

// SpawnAll makes an actor for each set of up to four words. Where it fails with
// ErrNoSlot, wrapped, those that found a slot are there, and the addresses of the
// others are zero.
func (w *World) SpawnAll(ctx context.Context, handler string, words ...[]uint32) ([]Address, error) {
	number := w.handler(handler)
	if number < 0 {
		return nil, fmt.Errorf("actors: there is no handler %q", handler)
	}
	orders := make([][]uint32, len(words))
	for i, first := range words {
		if len(first) > 4 {
			return nil, fmt.Errorf("actors: a new actor is given %d words, there may be 4", len(first))
		}
		orders[i] = append([]uint32{commandSpawn, 0, 0, uint32(number), 0, 0, 0}, first...)
	}
	answers, err := w.execute(ctx, orders)
	addresses := make([]Address, len(words))
	for i, a := range answers {
		if a.err() == nil {
			addresses[i] = a.who
		} else if err == nil {
			err = fmt.Errorf("actors: spawn %s: %w", handler, a.err())
		}
	}
	return addresses, err
}

func (w *World) handler(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.options.handler(name)
}

// Send puts a message into an actor's mailbox and waits until it is there; the
// actor gets it in the next tick. It returns ErrFull, ErrStale or ErrElsewhere,
// wrapped. Messages of one Send after the other arrive in that order.
func (w *World) Send(ctx context.Context, to Address, kind uint32, words ...uint32) error {
	errs, err := w.SendAll(ctx, Envelope{to, Message{Host(w.options.Device), kind, words}})
	if err != nil {
		return err
	}
	return errs[0]
}

// SendAll sends many messages at once, side by side, and returns for each what
// Send would, in place of an order among them. Where From is zero it becomes the
// host's.
func (w *World) SendAll(ctx context.Context, envelopes ...Envelope) ([]error, error) {
	orders := make([][]uint32, len(envelopes))
	for i, e := range envelopes {
		if len(e.Words) > w.options.Payload {
			return nil, fmt.Errorf("actors: a message of %d words, there may be %d", len(e.Words), w.options.Payload)
		}
		if e.To.Device != w.options.Device || e.To.IsHost() {
			return nil, fmt.Errorf("actors: send to %v from the host of device %d: %w", e.To, w.options.Device, ErrElsewhere)
		}
		if e.From == (Address{}) {
			e.From = Host(w.options.Device)
		}
		x, y := e.To.Words()
		fromX, fromY := e.From.Words()
		orders[i] = append([]uint32{commandSend, x, y, fromX, fromY, e.Kind, 0}, e.Words...)
	}
	return w.executeAll(ctx, orders, "send to")
}

// Broadcast sends a message to all who are live in the next tick. It returns
// ErrFull, wrapped, where that tick has too many already.
func (w *World) Broadcast(ctx context.Context, kind uint32, words ...uint32) error {
	return w.Send(ctx, Address{w.options.Device, slotAll, 1}, kind, words...)
}

// Terminate ends an actor before the next tick. Its slot becomes free, and its
// address stale. It returns ErrStale or ErrElsewhere, wrapped.
func (w *World) Terminate(ctx context.Context, who ...Address) error {
	return firstError(w.commandActors(ctx, commandTerminate, who, "terminate"))
}

// Restart gives actors the state that they were spawned with and an empty
// mailbox; they are live in the next tick, under the same address, also those
// that had failed. It returns ErrStale or ErrElsewhere, wrapped.
func (w *World) Restart(ctx context.Context, who ...Address) error {
	return firstError(w.commandActors(ctx, commandRestart, who, "restart"))
}

func (w *World) commandActors(ctx context.Context, what uint32, who []Address, verb string) ([]error, error) {
	orders := make([][]uint32, len(who))
	for i, a := range who {
		if a.Device != w.options.Device {
			return nil, fmt.Errorf("actors: %s %v: %w", verb, a, ErrElsewhere)
		}
		x, y := a.Words()
		orders[i] = []uint32{what, x, y}
	}
	return w.executeAll(ctx, orders, verb)
}

// firstError is the first error of many.
func firstError(errs []error, err error) error {
	for _, e := range errs {
		if err == nil {
			err = e
		}
	}
	return err
}

// executeAll gives orders and returns an error for each.
func (w *World) executeAll(ctx context.Context, orders [][]uint32, verb string) ([]error, error) {
	answers, err := w.execute(ctx, orders)
	if err != nil {
		return nil, err
	}
	errs := make([]error, len(answers))
	for i, a := range answers {
		if e := a.err(); e != nil {
			errs[i] = fmt.Errorf("actors: %s %v: %w", verb, a.who, e)
		}
	}
	return errs, nil
}

// execute gives orders of one kind to the device. After an error the answers are
// those so far.
func (w *World) execute(ctx context.Context, orders [][]uint32) ([]commandResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var answers []commandResult
	for len(orders) > 0 {
		n := min(len(orders), maxCommands)
		got, err := w.executeBatch(ctx, orders[:n])
		answers = append(answers, got...)
		if err != nil {
			return answers, err
		}
		orders = orders[n:]
	}
	return answers, nil
}

// executeBatch gives as many orders as travel at once. What changes who is live is
// settled before the next tick. mu is held.
func (w *World) executeBatch(ctx context.Context, orders [][]uint32) ([]commandResult, error) {
	size := 3 + messageHeader + max(w.options.Payload, 4)
	words := make([]uint32, size*len(orders))
	for i, order := range orders {
		copy(words[size*i:], order)
	}
	answered := make([]uint32, 3*len(orders))
	relist := uint32(1)
	turn := w.sweepAndPlan(1)
	if orders[0][0] == commandSend {
		relist, turn = 0, w.sweepAndPlan(1)[1:]
	}
	err := w.submitAndWait(ctx, executor.Job{
		Dispatch: executor.Dispatch{
			Program:  w.programs.command,
			Groups:   [3]uint32{uint32(len(orders)+63) / 64, 1, 1},
			Memory:   w.buffers.bound(),
			Uniforms: append(w.uniforms(), executor.Uint("count", uint32(len(orders))), executor.Uint("relist", relist)),
		},
		Then:    turn,
		Inputs:  []executor.Input{{Binding: 5, Data: glctx.Bytes(words)}},
		Outputs: []executor.Output{{Binding: 6, To: glctx.Bytes(answered)}},
	})
	if err != nil {
		return nil, err
	}
	answers := make([]commandResult, len(orders))
	for i := range answers {
		answers[i] = commandResult{answered[3*i], AddressOf(answered[3*i+1], answered[3*i+2])}
	}
	return answers, nil
}
