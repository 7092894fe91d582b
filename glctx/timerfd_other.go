//go:build !linux

package glctx

import (
	"sync"
	"time"
)

// timerFD is a timer of Go's, where there is no other; contexts need Linux.
type timerFD struct {
	timer *time.Timer
	ended chan struct{}
	end   sync.Once
}

func newTimerFD() (*timerFD, error) {
	t := &timerFD{timer: time.NewTimer(0), ended: make(chan struct{})}
	<-t.timer.C
	return t, nil
}

// set makes the timer expire once, after d.
func (t *timerFD) set(d time.Duration) { t.timer.Reset(d) }

// run calls expired each time the timer expires, until close.
func (t *timerFD) run(expired func()) {
	for {
		select {
		case <-t.timer.C:
			expired()
		case <-t.ended:
			return
		}
	}
}

// close ends run.
func (t *timerFD) close() { t.end.Do(func() { close(t.ended) }) }
