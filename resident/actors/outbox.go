//go:build linux

package actors

import (
	"context"
	"fmt"
)

// readOutbox moves n messages from the outbox to the host: those that did not fit into a
// report. While the host or the router has not fetched the previous ones they stay on the
// device, so that the outbox fills and sending fails. mu must be locked.
func (w *World) readOutbox(ctx context.Context, n int) error {
	if n == 0 || !w.hasRoom() {
		return nil
	}
	words := make([]uint32, n*w.options.envelopeWords())
	if err := w.buffers.post.Download(ctx, postHeader, words); err != nil {
		return fmt.Errorf("actors: read the outbox: %w", err)
	}
	if err := w.buffers.post.Upload(ctx, 0, []uint32{0}); err != nil {
		return fmt.Errorf("actors: empty the outbox: %w", err)
	}
	w.receiveAll(words, n)
	return nil
}

// hasRoom reports whether the host takes messages. mu must be locked.
func (w *World) hasRoom() bool {
	return len(w.hostMessages) < w.options.Outbox && (!w.routed || len(w.outgoing) < w.options.Outbox)
}

// receiveAll receives n messages of the outbox. mu must be locked.
func (w *World) receiveAll(words []uint32, n int) {
	size := w.options.envelopeWords()
	for i := range n {
		w.receive(envelopeAt(words[i*size : (i+1)*size]))
	}
}

func envelopeAt(words []uint32) Envelope {
	return Envelope{AddressOf(words[0], words[1]), Message{
		From:  AddressOf(words[2], words[3]),
		Kind:  words[4],
		Words: words[envelopeHeader+messageHeader:],
	}}
}

// receive adds a message to the ones of its receiver on the host. A reply is dropped when
// its request has ended, and without a router all but the last messages to other devices.
func (w *World) receive(e Envelope) {
	switch {
	case e.To.Device != w.options.Device:
		w.outgoing = append(w.outgoing, e)
		if !w.routed {
			w.outgoing = w.outgoing[max(0, len(w.outgoing)-w.options.Outbox):]
		}
	case e.To.Generation == hostMailbox:
		w.hostMessages = append(w.hostMessages, e.Message)
	default:
		if _, open := w.replies[e.To.Generation]; open {
			w.replies[e.To.Generation] = &e.Message
		}
	}
}

// HostMessages returns the messages to Host of this device since the last call.
func (w *World) HostMessages() []Message { return takeAll(w, &w.hostMessages) }

// takeAll returns the messages of a list, and empties it.
func takeAll[T any](w *World, list *[]T) []T {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := *list
	*list = nil
	return all
}
