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
	for _, w := range worlds {
		w.mu.Lock()
		w.routed = true
		w.mu.Unlock()
	}
	return r, nil
}

// Step steps all worlds n times, concurrently, and forwards messages after each tick:
// they are received in the next one. It returns the errors of World.Step; then some
// worlds may have stepped and others not. Between two ticks of a call a world gets its
// messages with the tick, in one submission.
func (r *Router) Step(ctx context.Context, n int) (Routes, error) {
	var waiting map[uint8][]Envelope
	for i := range n {
		if i > 0 {
			waiting = r.collect()
		}
		if err := r.stepWorlds(ctx, waiting); err != nil {
			return r.routes, err
		}
	}
	if n <= 0 {
		return r.routes, nil
	}
	return r.routes, r.forward(ctx)
}

// stepWorlds steps all worlds once, with messages by their device. Contexts that this
// thread serves are stepped by this goroutine, one after the other.
func (r *Router) stepWorlds(ctx context.Context, waiting map[uint8][]Envelope) error {
	var group errgroup.Group
	var here []*stepped
	var all []*stepped
	for device, w := range r.worlds {
		s := &stepped{world: w, messages: waiting[device]}
		all = append(all, s)
		if w.executor.Context().Pending() != nil {
			here = append(here, s)
			continue
		}
		group.Go(func() error { return s.step(ctx) })
	}
	var errs []error
	for _, s := range here {
		errs = append(errs, s.step(ctx))
	}
	errs = append(errs, group.Wait())
	for _, s := range all {
		r.recordResults(s.messages, s.results)
	}
	return errors.Join(errs...)
}

// stepped is a step of a world with messages.
type stepped struct {
	world    *World
	messages []Envelope
	results  []error // of those that were sent
}

func (s *stepped) step(ctx context.Context) (err error) {
	s.results, err = s.world.stepSending(ctx, s.messages)
	return err
}

// forward sends the messages between worlds.
func (r *Router) forward(ctx context.Context) error {
	var errs []error
	for device, all := range r.collect() {
		results, err := r.worlds[device].SendAll(ctx, all...)
		r.recordResults(all, results)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// collect returns the messages to retry, and then those that worlds have sent, by their
// device. While there are too many to retry, the others stay in their worlds, so that
// outboxes fill. Messages to hosts are received at once.
func (r *Router) collect() map[uint8][]Envelope {
	byDevice := map[uint8][]Envelope{}
	waiting := r.retries
	r.retries, r.routes.Waiting = nil, 0
	for _, w := range r.worlds {
		if len(waiting) < w.options.Outbox {
			waiting = append(waiting, takeAll(w, &w.outgoing)...)
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
	return byDevice
}

// recordResults counts the results of sending messages, and keeps those to retry, with those
// that were not sent because of an error.
func (r *Router) recordResults(all []Envelope, results []error) {
	for i, err := range results {
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
	r.retries = append(r.retries, all[len(results):]...)
	r.routes.Waiting = len(r.retries)
}

// receiveRemote receives a message to this host from another device.
func (w *World) receiveRemote(e Envelope) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.receive(e)
}
