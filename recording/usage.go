package recording

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// Usage is what the logs of all processes have about one program. The zero value is that
// of a program that no log has.
type Usage struct {
	Processes int           `json:"processes"`     // that linked it
	Links     int           `json:"links"`         // in all processes; with any, FirstLink is known
	Failed    int           `json:"refused"`       // of Links, as far as processes asked
	FirstLink time.Duration `json:"first_link_ns"` // the earliest in any process, since its start
	Used      bool          `json:"used"`          // FirstUse is known
	FirstUse  time.Duration `json:"first_use_ns"`  // the earliest in any process, since its start
	LinkTime  time.Duration `json:"link_ns"`       // the longest: of a process that found nothing in the driver's cache
}

// Logs is what the logs of a recording have.
type Logs struct {
	Processes []*Process
	Programs  map[shader.Digest]*Usage
	Lost      []Lost  // what processes could not record
	Damaged   []error // logs that could not be read
}

// Logs reads the logs of all processes.
func (r *Recording) Logs() *Logs {
	l := &Logs{Programs: map[shader.Digest]*Usage{}}
	for p, err := range r.Processes() {
		if err != nil {
			l.Damaged = append(l.Damaged, err)
			continue
		}
		l.Processes = append(l.Processes, p)
		l.Lost = append(l.Lost, p.Lost...)
		l.add(p)
	}
	return l
}

func (l *Logs) add(p *Process) {
	seen := map[shader.Digest]bool{}
	for _, link := range p.Links {
		u := l.usage(link.Program)
		if !seen[link.Program] {
			seen[link.Program] = true
			u.Processes++
		}
		if u.Links == 0 || link.At < u.FirstLink {
			u.FirstLink = link.At
		}
		u.Links++
		u.LinkTime = max(u.LinkTime, link.Took)
	}
	for _, failed := range p.Failed {
		l.usage(failed.Program).Failed++
	}
	for _, use := range p.Uses {
		if u := l.usage(use.Program); !u.Used || use.At < u.FirstUse {
			u.Used, u.FirstUse = true, use.At
		}
	}
}

func (l *Logs) usage(d shader.Digest) *Usage {
	u := l.Programs[d]
	if u == nil {
		u = &Usage{}
		l.Programs[d] = u
	}
	return u
}

// Of returns the usage of a program.
func (l *Logs) Of(d shader.Digest) Usage {
	if u := l.Programs[d]; u != nil {
		return *u
	}
	return Usage{}
}

// Sort sorts programs by their first link in any process. Those that no log has come
// last, by their names.
func (l *Logs) Sort(programs []shader.Digest) {
	first := func(d shader.Digest) time.Duration {
		if u := l.Of(d); u.Links > 0 {
			return u.FirstLink
		}
		return math.MaxInt64
	}
	slices.SortFunc(programs, func(a, b shader.Digest) int {
		return cmp.Or(cmp.Compare(first(a), first(b)), slices.Compare(a[:], b[:]))
	})
}
