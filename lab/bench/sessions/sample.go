package sessions

import (
	"errors"
	"fmt"
	"time"

	"github.com/shadercache/shadercache/resident"
)

// maxSamples bounds the calls of a row.
const maxSamples = 20_000

// answerTimeout is how long an answer may take before a row fails.
const answerTimeout = 10 * time.Second

// sample calls once until the time of a row is over, and before that until the GPU is
// warm. It returns how long each call took, without those of the warm-up.
func (r *run) sample(once func(i uint32) error) ([]time.Duration, error) {
	var times []time.Duration
	began := time.Now()
	for i := uint32(0); len(times) < maxSamples && (len(times) < 10 || time.Since(began) < r.warm+r.rowTime()); i++ {
		start := time.Now()
		if err := once(i); err != nil {
			return times, err
		}
		if start.Sub(began) >= r.warm {
			times = append(times, time.Since(start))
		}
		if err := r.ctx.Err(); err != nil {
			return times, err
		}
	}
	return times, nil
}

// receive spins until the kernel's next message arrives.
func receive(s *resident.Session) (resident.Message, error) {
	for began := time.Now(); ; {
		for range 1024 {
			if m, ok := s.TryReceive(); ok {
				return m, nil
			}
		}
		if time.Since(began) > answerTimeout {
			return resident.Message{}, errors.Join(fmt.Errorf("no answer within %v", answerTimeout), s.Err())
		}
	}
}
