package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/internal/bench/stats"
	"github.com/shadercache/shadercache/resident"
)

// answerTimeout is how long an answer may take before a row fails.
const answerTimeout = 10 * time.Second

// mostMessages bounds the round trips of a row.
const mostMessages = 50_000

// messages measures a message from a session on the first device to one on the second and
// back, for each way to run sessions.
func (r *run) messages() error {
	k, err := resident.Echo(1)
	if err != nil {
		return err
	}
	for _, strategy := range []resident.Strategy{resident.Persistent, resident.Redispatch} {
		if err := r.pingPong(k, strategy); err != nil {
			return err
		}
	}
	return nil
}

// pingPong adds the row of a strategy.
func (r *run) pingPong(k resident.Kernel, strategy resident.Strategy) (err error) {
	var sessions [2]*resident.Session
	for i := range sessions {
		s, err := r.session(i%r.group.Len(), k, strategy)
		if err != nil {
			return err
		}
		defer s.Close()
		if sessions[i] = s; s.Start(0) != nil {
			return s.Err()
		}
	}
	mode := sessions[0].Mode()
	row := MessageRow{Requested: mode.Requested.String(), Got: mode.Actual.String(), Why: mode.Reason, Verified: true}
	var times []time.Duration
	value := uint32(1)
	for began := time.Now(); len(times) < mostMessages && time.Since(began).Seconds() < r.Seconds+warmSeconds; {
		start := time.Now()
		for _, s := range sessions {
			// Each answers with three times what it got, plus one: see resident.Echo.
			got, err := ask(r.ctx, s, resident.Message{Kind: 9, A: value, B: ^value})
			if err != nil {
				return err
			}
			row.Verified = row.Verified && got.A == 3*value+1 && got.B == ^value
			value = got.A
		}
		if start.Sub(began).Seconds() > warmSeconds {
			times = append(times, time.Since(start))
		}
	}
	for _, s := range sessions {
		if _, stopErr := s.Stop(r.ctx); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
	}
	latencies := stats.NewLatencies(times)
	row.Median, row.P99, row.RoundTrips = stats.Micros(latencies.Median), stats.Micros(latencies.P99), len(times)
	r.result.Messages = append(r.result.Messages, row)
	r.result.Verified = r.result.Verified && row.Verified
	return err
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

// ask sends a message and spins until the answer is there.
func ask(ctx context.Context, s *resident.Session, m resident.Message) (resident.Message, error) {
	if err := s.Send(m); err != nil {
		return resident.Message{}, err
	}
	for began := time.Now(); ; {
		for range 1024 {
			if m, ok := s.TryReceive(); ok {
				return m, nil
			}
		}
		if ctx.Err() != nil {
			return m, ctx.Err()
		}
		if time.Since(began) > answerTimeout {
			return m, errors.Join(fmt.Errorf("no answer within %v", answerTimeout), s.Err())
		}
	}
}
