package executor

import (
	"math/bits"
	"time"
)

// estimate is the expected duration of one class of stages.
type estimate struct {
	duration time.Duration
	measured bool // set by the first missed poll; before it, duration is a guess
	streak   int  // stages in a row that were complete at their first poll
	trial    trial
}

// estimates has an estimate for each class of stages, and for stages of one job one for
// what it runs: kernels of one program may take microseconds and seconds. The first guess
// for new work is the estimate of the work before it, of the same class.
type estimates struct {
	classes [stageClasses]estimate
	works   map[work]*estimate
}

const (
	stageClasses = 8 + 16
	mostWorks    = 4096 // then all are forgotten
)

// work is what the kernels of a job are known by.
type work struct {
	class, commands int
	kernels         uint64 // a hash of the programs, and of the numbers of work groups, to a power of 2
}

// workOf returns what the commands of a job are known by, in all classes.
func workOf(commands []command) work {
	w := work{commands: len(commands)}
	for i := range commands {
		c := &commands[i]
		size := bits.Len64(uint64(c.groups[0]) * uint64(c.groups[1]) * uint64(c.groups[2]))
		w.kernels = (w.kernels ^ uint64(c.program)<<8 ^ uint64(size)) * 1099511628211 // as FNV-1a does
	}
	return w
}

// of returns the estimate for stages like s. A stage keeps its estimate.
func (x *estimates) of(s *stage) *estimate {
	if s.estimate == nil {
		s.estimate = x.find(s)
	}
	return s.estimate
}

func (x *estimates) find(s *stage) *estimate {
	b := s.whole
	if b == nil {
		b = s.run
	}
	if b == nil || len(b.jobs) != 1 || len(b.commands) == 0 {
		return &x.classes[s.class()]
	}
	class, key := s.class(), b.jobs[0].work
	key.class = class
	e := x.works[key]
	if e == nil {
		if x.works == nil || len(x.works) >= mostWorks {
			x.works = map[work]*estimate{}
		}
		e = &estimate{duration: x.classes[class].duration}
		x.works[key] = e
	}
	x.classes[class].duration = e.duration
	return e
}

// class numbers the stages that are expected to take equally long: by the parts
// that run, and whole batches by their number of jobs to a power of 2.
func (s *stage) class() int {
	if s.whole != nil {
		return 8 + min(bits.Len(uint(len(s.whole.jobs))), stageClasses-9)
	}
	class := 0
	for i, part := range [...]*batch{s.up, s.run, s.down} {
		if part != nil {
			class |= 1 << i
		}
	}
	return class
}

// observe adjusts the estimate to a stage that was found complete after elapsed.
//
// After a missed poll elapsed is about the true duration. A stage that was complete
// at its first poll may have been complete long before: the estimate shrinks, so
// that the next poll comes earlier. It is halved while it is a guess, since the first
// stages wait for much that later ones do not. Each missed poll wakes the GL thread,
// which matters for long stages: their estimate shrinks by a thousandth at first, and
// faster the longer no poll is missed. About one poll in ten is missed so.
func (e *estimate) observe(missedPoll bool, elapsed time.Duration) {
	e.streak++
	switch {
	case missedPoll && e.measured:
		e.duration += (elapsed - e.duration) / 4
		e.streak = 0
	case missedPoll:
		e.duration, e.measured, e.streak = elapsed, true, 0
	case e.duration == 0:
		e.duration = elapsed / 2
	case !e.measured:
		e.duration = min(elapsed, e.duration) / 2
	case e.duration < maxSpinStage:
		e.duration = min(elapsed, e.duration) * 31 / 32
	default:
		e.duration = min(elapsed, e.duration)
		e.duration -= e.duration >> max(2, 10-e.streak/4)
	}
}

// observeSeveral adjusts the estimate when one poll found several stages complete,
// elapsed after the first of them began. If the poll came on time the estimate was
// too large. If it came late it shows nothing.
func (e *estimate) observeSeveral(elapsed time.Duration) {
	if elapsed < e.duration*3/2 {
		e.duration -= e.duration / 8
	}
}

// limit adjusts the estimate after a poll that was delayed on purpose: n stages were
// complete after elapsed together, and, with oneMore, the next one was not.
func (e *estimate) limit(n int, elapsed time.Duration, oneMore bool) {
	e.duration = min(e.duration, elapsed/time.Duration(n))
	if oneMore {
		e.duration = max(e.duration, elapsed/time.Duration(n+1))
	}
}
