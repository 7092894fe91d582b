package group

import (
	"context"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident/actors"
)

// pongText replies to each message with its first word plus one. Kind 1 has an address,
// which gets the first one.
const pongText = `
void ON_MESSAGE(Message m) {
    actorSet(0u, m.word[0]);
    Message next = actorMessage(2u);
    if (m.kind == 1u) {
        actorSend(uvec2(m.word[0], m.word[1]), next);
    } else {
        next.word[0] = m.word[0] + 1u;
        actorReply(m, next);
    }
}
void ON_TICK() {}`

// actors measures a message from an actor on the first device to one on the second and
// back, passed on by a router.
func (r *run) actors() error {
	pair := make([]*actors.World, 2)
	for i := range pair {
		w, err := r.world(i)
		if err != nil {
			return err
		}
		defer w.Close()
		pair[i] = w
	}
	router, err := actors.NewRouter(pair...)
	if err != nil {
		return err
	}
	var all [2]actors.Address
	for i, w := range pair {
		if all[i], err = w.Spawn(r.ctx, "pong"); err != nil {
			return err
		}
	}
	x, y := all[1].Words()
	if err := pair[0].Send(r.ctx, all[0], 1, x, y); err != nil {
		return err
	}
	row := MessageRow{Requested: "actors", Got: "router"}
	if _, err := routeFor(r.ctx, router, warmSeconds); err != nil {
		return err
	}
	began := time.Now()
	hops, err := routeFor(r.ctx, router, r.Seconds)
	if err != nil {
		return err
	}
	row.RoundTrips = hops / len(pair)
	row.Micros = measure.Micros(time.Since(began)) / float64(max(1, row.RoundTrips))
	if row.Verified, err = r.numbersFollow(router, pair, all); err != nil {
		return err
	}
	r.result.Messages = append(r.result.Messages, row)
	r.result.Verified = r.result.Verified && row.Verified
	return nil
}

// world makes a world of actors on a member.
func (r *run) world(i int) (*actors.World, error) {
	member, err := r.group.Member(r.ctx, i%r.group.Len())
	if err != nil {
		return nil, err
	}
	gpu, err := member.Local()
	if err != nil {
		return nil, err
	}
	return actors.New(r.ctx, gpu.Executor, gpu.Cache, actors.Options{
		Device: uint8(i + 1), Handlers: []actors.Handler{{Name: "pong", Text: pongText}}, Slots: 64,
	})
}

// routeFor steps the worlds of a router for a time and returns the number of steps. Each
// delivers the message.
func routeFor(ctx context.Context, router *actors.Router, seconds float64) (steps int, err error) {
	const batch = 16
	for began := time.Now(); time.Since(began).Seconds() < seconds; steps += batch {
		routes, err := router.Step(ctx, batch)
		if err != nil {
			return 0, err
		}
		if lost := routes.Retried + routes.Stale + routes.Unknown; lost > 0 {
			return 0, fmt.Errorf("%d messages did not arrive: %+v", lost, routes)
		}
	}
	return steps, nil
}

// numbersFollow reports whether the actors have seen the numbers of all messages that the
// router has delivered: they count them.
func (r *run) numbersFollow(router *actors.Router, pair []*actors.World, all [2]actors.Address) (bool, error) {
	routes, err := router.Step(r.ctx, 1)
	if err != nil {
		return false, err
	}
	var newest [2]uint32
	for i, w := range pair {
		words, err := w.StateWords(r.ctx, all[i])
		if err != nil {
			return false, err
		}
		newest[i] = words[0]
	}
	// The last message that was delivered has not been received.
	last := uint32(routes.Delivered) - 2
	return newest[last%2^1] == last && newest[last%2] == last-1, nil
}
