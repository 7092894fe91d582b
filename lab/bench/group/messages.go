package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/resident"
)

// answerTimeout is how long an answer may take before a row fails.
const answerTimeout = 10 * time.Second

// messages measures a message from a session on the first device to one on the second and
// back, for each way to run sessions, and from actor to actor.
func (r *run) messages() error {
	k := resident.Echo(1)
	for _, strategy := range []resident.Strategy{resident.Persistent, resident.Redispatch} {
		if err := r.pingPong(k, strategy); err != nil {
			return err
		}
	}
	return r.actors()
}

// pingPong adds the row of a strategy: the sessions forward their messages to each other.
func (r *run) pingPong(k resident.Kernel, strategy resident.Strategy) (err error) {
	var pair [2]*resident.Session
	for i := range pair {
		if pair[i], err = r.session(i%r.group.Len(), k, strategy); err != nil {
			return err
		}
		defer pair[i].Close()
	}
	for _, s := range pair {
		if err := s.Start(0); err != nil {
			return err
		}
	}
	if err := join(pair); err != nil {
		return err
	}
	mode := pair[0].Mode()
	row := MessageRow{Requested: mode.Requested.String(), Got: mode.Actual.String(), Why: mode.Reason}
	if err := pair[0].Send(resident.Message{Kind: messageKind, A: 1, B: messageMark}); err != nil {
		return err
	}
	r.pause(warmSeconds)
	before, began := forwarded(pair), time.Now()
	r.pause(r.Seconds)
	row.RoundTrips = int(forwarded(pair)-before) / len(pair)
	row.Micros = measure.Micros(time.Since(began)) / float64(max(1, row.RoundTrips))
	if row.Verified, err = r.endPingPong(pair); err != nil {
		return err
	}
	if err := r.idle(pair, &row); err != nil {
		return err
	}
	r.result.Messages = append(r.result.Messages, row)
	r.result.Verified = r.result.Verified && row.Verified
	return nil
}

// join has two sessions forward their messages to each other.
func join(pair [2]*resident.Session) error {
	return errors.Join(pair[0].Forward(messageKind, pair[1], 0), pair[1].Forward(messageKind, pair[0], 0))
}

// separate ends the forwarding.
func separate(pair [2]*resident.Session) error {
	return errors.Join(pair[0].Forward(messageKind, nil, 0), pair[1].Forward(messageKind, nil, 0))
}

const (
	messageKind = 9
	messageMark = 0x5eed
)

// endPingPong ends the forwarding and reports whether the last message, which then comes to
// the host, was answered as often as it was forwarded: each answer is three times what came,
// plus one, see resident.Echo.
func (r *run) endPingPong(pair [2]*resident.Session) (bool, error) {
	if err := separate(pair); err != nil {
		return false, err
	}
	m, err := receiveLast(r.ctx, pair)
	if err != nil {
		return false, err
	}
	want := uint32(1)
	for range forwarded(pair) + 1 {
		want = 3*want + 1
	}
	return m.A == want && m.B == messageMark, nil
}

// idle measures the CPU time of two sessions without a message, that forward nothing and
// that forward to each other, and stops them.
func (r *run) idle(pair [2]*resident.Session, row *MessageRow) error {
	cpu := func() float64 {
		r.pause(idleSeconds) // pauses of what polls have become long
		used, began := measure.CPUTime(), time.Now()
		r.pause(r.Seconds)
		return measure.CPUPercent(used, time.Since(began))
	}
	row.IdleAlone = cpu()
	if err := join(pair); err != nil {
		return err
	}
	row.Idle = cpu()
	for _, s := range pair {
		if _, err := s.Stop(r.ctx); err != nil {
			return err
		}
	}
	return nil
}

// idleSeconds is the time after which sessions without messages are idle.
const idleSeconds = 0.1

// forwarded returns the messages that went from one session to the other.
func forwarded(pair [2]*resident.Session) uint64 {
	return pair[0].Stats().Forwarded + pair[1].Stats().Forwarded
}

// pause waits for a time, or for an interrupt.
func (r *run) pause(seconds float64) {
	select {
	case <-time.After(time.Duration(seconds * float64(time.Second))):
	case <-r.ctx.Done():
	}
}

// receiveLast waits for the message, at either session.
func receiveLast(ctx context.Context, pair [2]*resident.Session) (resident.Message, error) {
	for began := time.Now(); ; {
		for _, s := range pair {
			if m, ok := s.TryReceive(); ok {
				return m, nil
			}
		}
		if ctx.Err() != nil {
			return resident.Message{}, ctx.Err()
		}
		if time.Since(began) > answerTimeout {
			return resident.Message{}, errors.Join(fmt.Errorf("no answer within %v", answerTimeout), pair[0].Err(), pair[1].Err())
		}
	}
}

// warmSeconds is the time before a GPU runs at its full clock.
const warmSeconds = 0.2

// session makes a session on a member.
func (r *run) session(rank int, k resident.Kernel, strategy resident.Strategy) (*resident.Session, error) {
	member, err := r.group.Member(r.ctx, rank)
	if err != nil {
		return nil, err
	}
	gpu, err := member.Local()
	if err != nil {
		return nil, err
	}
	caps, err := resident.Probe(r.ctx, gpu.Context, gpu.Cache, nil)
	if err != nil {
		return nil, err
	}
	return resident.New(r.ctx, gpu.Context, gpu.Cache, k, resident.Options{Strategy: strategy, Poll: 1, Capabilities: caps})
}
