//go:build linux

package actors

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// Router passes messages between worlds, each on a context of its own, through
// the host. It belongs to one goroutine.
type Router struct {
	worlds  map[uint8]*World
	routes  Routes
	retries []Envelope // found a full mailbox
}

// Routes says what a router has done since it was made.
type Routes struct {
	Delivered uint64 `json:"delivered"`
	Retried   uint64 `json:"retried"` // found a full mailbox, to be tried again
	Stale     uint64 `json:"stale"`   // to actors that had ended: lost
	Unknown   uint64 `json:"unknown"` // to devices that the router does not know: lost
	Waiting   int    `json:"waiting"` // to be tried again
}

// NewRouter makes a router between worlds, whose Options.Device must differ and
// whose Options.Payload must not.
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

// Step steps all worlds n times, side by side, and passes messages on after each
// tick: they are received in the next one. It fails as World.Step does; then some
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

// stepWorlds steps all worlds once, those that work on this thread on this goroutine.
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

// forward delivers what waits, and then what the worlds have for each other. While
// too much waits the worlds keep theirs, so that their actors find no room.
func (r *Router) forward(ctx context.Context) error {
	letters := map[uint8][]Envelope{}
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
			letters[e.To.Device] = append(letters[e.To.Device], e)
		}
	}
	for device, all := range letters {
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

// recordResults counts what became of messages, and keeps those that are to be tried
// again.
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

// receiveRemote takes a message to the host, from another device.
func (w *World) receiveRemote(e Envelope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.receive(e)
}
