package pace

import "time"

// Limit keeps ticks short for a second after a deadline was requested, so that the
// next deadline is met too. The zero value limits nothing.
type Limit struct {
	bound time.Duration
	until time.Time
}

// limitTime is how long a limit is kept.
const limitTime = time.Second

// Lower limits ticks to d from now on, or keeps a shorter limit that still holds.
func (l *Limit) Lower(d time.Duration) {
	now := time.Now()
	if now.After(l.until) || d < l.bound {
		l.bound = d
	}
	l.until = now.Add(limitTime)
}

// Apply returns target, or the limit where it holds and is shorter.
func (l *Limit) Apply(target time.Duration) time.Duration {
	if time.Now().Before(l.until) {
		return min(target, l.bound)
	}
	return target
}
