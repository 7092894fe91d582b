//go:build linux

package actors

import (
	"context"
	"fmt"
)

// Request sends a message and steps the world until the actor has replied, with
// actorReply, for at most Options.RequestTicks. Other goroutines may step the world at
// the same time, also with a Router. It returns ErrNoReply, wrapped, and the errors of
// Send and Step.
func (w *World) Request(ctx context.Context, to Address, kind uint32, words ...uint32) (Message, error) {
	number := w.openRequest()
	defer w.closeRequest(number)
	from := Address{w.options.Device, slotHost, number}
	errs, err := w.SendAll(ctx, Envelope{to, Message{from, kind, words}})
	if err := firstError(errs, err); err != nil {
		return Message{}, err
	}
	for range w.options.RequestTicks {
		if _, err := w.Step(ctx, 1); err != nil {
			return Message{}, err
		}
		if reply := w.replyTo(number); reply != nil {
			return *reply, nil
		}
	}
	return Message{}, fmt.Errorf("actors: request to %v: %w in %d ticks", to, ErrNoReply, w.options.RequestTicks)
}

// openRequest returns the number of a new request, whose reply is stored when it arrives.
func (w *World) openRequest() uint32 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.requests++
	if w.requests <= hostMailbox { // after 1<<32 requests
		w.requests = hostMailbox + 1
	}
	w.replies[w.requests] = nil
	return w.requests
}

func (w *World) replyTo(number uint32) *Message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.replies[number]
}

func (w *World) closeRequest(number uint32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.replies, number)
}
