//go:build !linux

package glctx

import (
	"errors"
	"time"
)

// timerFD is a timer of Linux, as contexts are.
type timerFD struct{}

func newTimerFD() (*timerFD, error) { return nil, errors.ErrUnsupported }

func (t *timerFD) set(time.Duration) {}
func (t *timerFD) run(func())        {}
func (t *timerFD) close()            {}
