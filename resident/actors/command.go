//go:build linux

package actors

import (
	"cmp"
	"context"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// The kinds of commands of the host, in actors_command.comp.
const (
	commandSend uint32 = iota
	commandSpawn
	commandTerminate
	commandRestart
)

// maxCommands is the number of commands in a submission, which have to fit into a slot
// of the executor.
const maxCommands = 1024

// commandResult is the result of a command on the device.
type commandResult struct {
	code  uint32
	actor Address
}

// resultErrors are the errors for the codes of results, ActorOK and so on.
var resultErrors = [...]error{nil, ErrFull, ErrStale, ErrNoSlot, ErrElsewhere}

func (r commandResult) err() error {
	if int(r.code) >= len(resultErrors) {
		return fmt.Errorf("actors: the device returned the unknown code %d", r.code)
	}
	return resultErrors[r.code]
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

// SpawnAll makes an actor for each set of up to four words. With ErrNoSlot, wrapped,
// the actors that got a slot are live, and the addresses of the others are zero.
func (w *World) SpawnAll(ctx context.Context, handler string, words ...[]uint32) ([]Address, error) {
	number := w.Options().handler(handler)
	if number < 0 {
		return nil, fmt.Errorf("actors: there is no handler %q", handler)
	}
	commands := make([][]uint32, len(words))
	for i, first := range words {
		if len(first) > 4 {
			return nil, fmt.Errorf("actors: %d words for a new actor: at most 4 are possible", len(first))
		}
		commands[i] = append([]uint32{commandSpawn, 0, 0, uint32(number), 0, 0, 0}, first...)
	}
	results, err := w.execute(ctx, commands, false)
	addresses := make([]Address, len(words))
	for i, r := range results {
		if r.err() == nil {
			addresses[i] = r.actor
		} else if err == nil {
			err = fmt.Errorf("actors: spawn %s: %w", handler, r.err())
		}
	}
	return addresses, err
}

// Send puts a message into the mailbox of an actor, which receives it in the next tick,
// and waits until that is done. It returns ErrFull, ErrStale or ErrElsewhere, wrapped.
// Messages of successive calls arrive in order.
func (w *World) Send(ctx context.Context, to Address, kind uint32, words ...uint32) error {
	errs, err := w.SendAll(ctx, Envelope{to, Message{Host(w.options.Device), kind, words}})
	return firstError(errs, err)
}

// SendAll sends messages concurrently, without an order among them, and returns the
// error of Send for each; with an error of its own, for each of those that it sent before. A zero
// From becomes the host.
func (w *World) SendAll(ctx context.Context, envelopes ...Envelope) ([]error, error) {
	commands, err := w.sendCommands(envelopes)
	if err != nil {
		return nil, err
	}
	return w.executeAll(ctx, commands, "send to", false)
}

// sendCommands returns the commands that send messages.
func (w *World) sendCommands(envelopes []Envelope) ([][]uint32, error) {
	commands := make([][]uint32, len(envelopes))
	for i, e := range envelopes {
		if len(e.Words) > w.options.Payload {
			return nil, fmt.Errorf("actors: a message of %d words: at most %d are possible", len(e.Words), w.options.Payload)
		}
		if e.To.Device != w.options.Device || e.To.IsHost() {
			return nil, fmt.Errorf("actors: send to %v from the host of device %d: %w", e.To, w.options.Device, ErrElsewhere)
		}
		if e.From == (Address{}) {
			e.From = Host(w.options.Device)
		}
		x, y := e.To.Words()
		fromX, fromY := e.From.Words()
		commands[i] = append([]uint32{commandSend, x, y, fromX, fromY, e.Kind, 0}, e.Words...)
	}
	return commands, nil
}

// Broadcast sends a message to all actors that are live in the next tick. It returns
// ErrFull, wrapped, when that tick has Options.Broadcasts already.
func (w *World) Broadcast(ctx context.Context, kind uint32, words ...uint32) error {
	return w.Send(ctx, Address{w.options.Device, slotAll, 1}, kind, words...)
}

// Terminate ends actors before the next tick. Their slots become free, and their
// addresses stale. It returns ErrStale or ErrElsewhere, wrapped.
func (w *World) Terminate(ctx context.Context, actor ...Address) error {
	return firstError(w.commandActors(ctx, commandTerminate, actor, "terminate"))
}

// Restart sets actors, also failed ones, to the state that they were spawned with and
// empties their mailboxes. They are live in the next tick, under the same addresses. It
// returns ErrStale or ErrElsewhere, wrapped.
func (w *World) Restart(ctx context.Context, actor ...Address) error {
	return firstError(w.commandActors(ctx, commandRestart, actor, "restart"))
}

func (w *World) commandActors(ctx context.Context, kind uint32, actor []Address, verb string) ([]error, error) {
	commands := make([][]uint32, len(actor))
	for i, a := range actor {
		if a.Device != w.options.Device {
			return nil, fmt.Errorf("actors: %s %v: %w", verb, a, ErrElsewhere)
		}
		x, y := a.Words()
		commands[i] = []uint32{kind, x, y}
	}
	return w.executeAll(ctx, commands, verb, false)
}

// firstError returns err, else the first error of errs.
func firstError(errs []error, err error) error {
	return cmp.Or(err, cmp.Or(errs...))
}

// executeAll is execute that returns an error for each command that was executed.
func (w *World) executeAll(ctx context.Context, commands [][]uint32, verb string, tick bool) ([]error, error) {
	results, err := w.execute(ctx, commands, tick)
	errs := make([]error, len(results))
	for i, r := range results {
		if e := r.err(); e != nil {
			errs[i] = fmt.Errorf("actors: %s %v: %w", verb, r.actor, e)
		}
	}
	return errs, err
}

// execute executes commands of one kind on the device, with a tick behind the last one where
// tick is set. With an error it returns the results of the submissions before.
func (w *World) execute(ctx context.Context, commands [][]uint32, tick bool) ([]commandResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var results []commandResult
	for len(commands) > 0 {
		n := min(len(commands), maxCommands)
		batch, err := w.submitCommands(ctx, commands[:n], tick && n == len(commands))
		results = append(results, batch...)
		if err != nil {
			return results, err
		}
		commands = commands[n:]
	}
	return results, nil
}

// submitCommands executes commands in one submission, and a tick behind them where tick is set.
// Commands that change which actors are live are followed by a sweep in any case. mu must be
// locked.
func (w *World) submitCommands(ctx context.Context, commands [][]uint32, tick bool) ([]commandResult, error) {
	then, relist := w.sweepAndPlan(true, true), uint32(1)
	if commands[0][0] == commandSend {
		then, relist = then[1:], 0
	}
	if tick {
		then = w.ticks(1)
	}
	size := 3 + messageHeader + max(w.options.Payload, 4)
	words := make([]uint32, size*len(commands))
	for i, command := range commands {
		copy(words[size*i:], command)
	}
	output := make([]uint32, 3*len(commands))
	err := w.submitAndWait(ctx, job.Job{
		Dispatch: job.Dispatch{
			Program:  w.programs.command,
			Groups:   [3]uint32{uint32(len(commands)+63) / 64, 1, 1},
			Buffers:  w.buffers.bound(),
			Uniforms: append(w.uniforms(), job.Uint("count", uint32(len(commands))), job.Uint("relist", relist)),
		},
		Then:    then,
		Inputs:  []job.Input{{Binding: 5, Data: glctx.Bytes(words)}},
		Outputs: []job.Output{{Binding: 6, Dirty: true, To: glctx.Bytes(output)}},
	})
	if err != nil {
		return nil, err
	}
	results := make([]commandResult, len(commands))
	for i := range results {
		results[i] = commandResult{output[3*i], AddressOf(output[3*i+1], output[3*i+2])}
	}
	return results, nil
}
