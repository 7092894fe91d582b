//go:build linux

package actors

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Router forwards messages between worlds, each on a context of its own, through the
// host. It must be used from one goroutine.
type Router struct {
	worlds  map[uint8]*World
	routes  Routes
	retries []Envelope // their receivers' mailboxes were full
}

// Routes has the counters of a router since NewRouter.
type Routes struct {
	Delivered uint64 `json:"delivered"`
	Retried   uint64 `json:"retried"` // the mailbox was full: sent again in the next tick
	Stale     uint64 `json:"stale"`   // to actors that had ended: discarded
	Unknown   uint64 `json:"unknown"` // to devices without a world of the router: discarded
	Waiting   int    `json:"waiting"` // messages to be sent again
}

// NewRouter makes a router between worlds with different Options.Device and the same
// Options.Payload.
func NewRouter(worlds ...*World) (*Router, error) {
	r := &Router{worlds: map[uint8]*World{}}
	for _, w := range worlds {
		device := w.options.Device
		if r.worlds[device] != nil {
			return nil, fmt.Errorf("actors: two worlds have the device %d", device)
		}
		if w.options.Payload != worlds[0].options.Payload {
			return nil, fmt.Errorf("actors: messages of device %d have %d words, those of device %d have %d",
				device, w.options.Payload, worlds[0].options.Device, worlds[0].options.Payload)
		}
		r.worlds[device] = w
	}
	return r, nil
}

// Step steps all worlds n times, concurrently, and forwards messages after each tick:
// they are received in the next one. It returns the errors of World.Step; then some
// worlds may have stepped and others not.
func (r *Router) Step(ctx context.Context, n int) (Routes, error) {
	for range n {
		if err := r.stepWorlds(ctx); err != nil {
			return r.routes, err
		}
		if err := r.forward(ctx); err != nil {
			return r.routes, err
		}
	}
	return r.routes, nil
}

// stepWorlds steps all worlds once. Contexts that this thread serves are stepped by this
// goroutine, one after the other.
func (r *Router) stepWorlds(ctx context.Context) error {
	var group errgroup.Group
	var here []*World
	for _, w := range r.worlds {
		if w.executor.Context().Pending() != nil {
			here = append(here, w)
			continue
		}
		group.Go(func() error {
			_, err := w.Step(ctx, 1)
			return err
		})
	}
	var errs []error
	for _, w := range here {
		_, err := w.Step(ctx, 1)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, group.Wait())...)
}

// forward sends the messages to retry, and then the messages between worlds. While there
// are too many to retry, the others stay in their worlds, so that outboxes fill.
func (r *Router) forward(ctx context.Context) error {
	byDevice := map[uint8][]Envelope{}
	waiting := r.retries
	r.retries = nil
	for _, w := range r.worlds {
		if len(waiting) < w.options.Outbox {
			waiting = append(waiting, w.drainOutgoing()...)
		}
	}
	for _, e := range waiting {
		switch to := r.worlds[e.To.Device]; {
		case to == nil:
			r.routes.Unknown++
		case e.To.IsHost():
			to.receiveRemote(e)
			r.routes.Delivered++
		default:
			byDevice[e.To.Device] = append(byDevice[e.To.Device], e)
		}
	}
	for device, all := range byDevice {
		errs, err := r.worlds[device].SendAll(ctx, all...)
		if err != nil {
			r.retries = append(r.retries, all...)
			return err
		}
		r.recordResults(all, errs)
	}
	r.routes.Waiting = len(r.retries)
	return nil
}

// recordResults counts the results of sending messages, and keeps those to retry.
func (r *Router) recordResults(all []Envelope, errs []error) {
	for i, err := range errs {
		switch {
		case err == nil:
			r.routes.Delivered++
		case errors.Is(err, ErrFull):
			r.routes.Retried++
			r.retries = append(r.retries, all[i])
		default:
			r.routes.Stale++
		}
	}
}

// receiveRemote receives a message to this host from another device.
func (w *World) receiveRemote(e Envelope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.receive(e)
}
