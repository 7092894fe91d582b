package cache

import "time"

// clock returns the time of uses. Unless it is replaced it reads the monotonic
// clock alone: the cheapest clock that goroutines can read without sharing a
// cache line.
type clock struct {
	start time.Time
	now   func() time.Time // nil: time.Now
}

func newClock(now func() time.Time) *clock {
	c := &clock{now: now}
	c.start = c.wall()
	return c
}

func (c *clock) wall() time.Time {
	if c.now != nil {
		return c.now()
	}
	return time.Now()
}

// elapsed returns the nanoseconds since the clock was made.
func (c *clock) elapsed() int64 {
	if c.now != nil {
		return int64(c.now().Sub(c.start))
	}
	return int64(time.Since(c.start))
}

// at converts what elapsed returned into a time.
func (c *clock) at(elapsed int64) time.Time { return c.start.Add(time.Duration(elapsed)) }
