package fleet

import (
	"errors"
	"slices"
	"time"
)

// breaker is breaker.json. A remote that failed is not asked at a start until a time that
// doubles with each failure, unless it answers, since each start would wait for it. The first success deletes
// it. Pull, Push and Status ask always.
type breaker struct {
	Failures int       `json:"failures"`
	Until    time.Time `json:"until"`
	Class    string    `json:"class"`
	Reason   string    `json:"reason"`
}

const (
	breakerFirst = time.Minute
	breakerMax   = time.Hour
)

// isOpen reports whether the remote is not to be asked. A time that this program did not
// write, since the clock was changed, does not count.
func (b *breaker) isOpen(now time.Time) bool {
	return now.Before(b.Until) && b.Until.Before(now.Add(breakerMax+time.Minute))
}

// backOff returns the time to wait after a number of failures.
func backOff(failures int, err error) time.Duration {
	wait := breakerMax
	if shift := failures - 1; shift < 6 {
		wait = breakerFirst << max(shift, 0)
	}
	if busy, ok := errors.AsType[*BusyError](err); ok {
		wait = max(wait, min(busy.RetryAfter, breakerMax))
	}
	return min(wait, breakerMax)
}

// breaker returns the state of the breaker.
func (d stateDir) breaker() (b breaker) {
	_ = d.read(breakerName, &b)
	return b
}

// failWait limits the time for which fail delays a start.
const failWait = 20 * time.Millisecond

// fail opens the breaker.
func (r *Remote) fail(class string, cause error) {
	var b breaker
	r.note(r.state.update(failWait, breakerName, &b, func() {
		if b.isOpen(r.now()) && b.Class == class {
			return // another process of the same moment, or the same start
		}
		if b.Failures == 0 || !slices.Contains([]string{classDenied, classSignature, classRollback}, class) {
			b.Failures++
			b.Until = r.now().Add(backOff(b.Failures, cause))
		} else {
			b.Until = r.now().Add(breakerFirst) // it answers, and to a process with other settings perhaps otherwise
		}
		b.Class, b.Reason = class, cause.Error()
	}))
}

// succeed closes the breaker.
func (r *Remote) succeed() {
	if r.state.breaker().Failures == 0 {
		return
	}
	var b breaker
	r.note(r.state.update(lockWait, breakerName, &b, func() { b = breaker{} }))
}
