package binary

import (
	"cmp"
	"slices"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// history.jsonl holds which programs starts asked for: one line of JSON for each process,
// appended in one write.
//
//	{"time":"2026-01-02T03:04:05Z","driver":"NVIDIA_H200-1f0c3a2b","executable":"app","programs":[{"key":"5e88...","name":"blur","ms":12.5}]}
var histories = appended[History]{
	name: "history.jsonl", above: 1 << 20, limit: 8 << 20,
	time:    func(h History) time.Time { return h.Time },
	shorten: laterHalf[History],
}

// maxAsked is the largest number of programs of a line: 1,000 take about 120 KB.
const maxAsked = 1000

// History is what one process asked for.
type History struct {
	Time       time.Time `json:"time"`       // when its cache was opened
	Driver     string    `json:"driver"`     // folder in the cache directory
	Executable string    `json:"executable"` // name of the executable's file
	Programs   []Asked   `json:"programs"`   // in the order in which they were asked for; the first 1,000
}

// Asked is one program that a process asked for, or several: then Name is that of the
// latest, and Checked of any.
type Asked struct {
	Key    shader.Key `json:"key"`
	Name   string     `json:"name"`
	Millis float64    `json:"ms"`               // since History.Time; of several, on average
	Starts int        `json:"starts,omitempty"` // processes; 0 = this one

	Checked bool `json:"checked,omitempty"` // its source has a check
}

// PutHistory records what a process asked for. Driver is set.
func (s *Store) PutHistory(h History) error {
	if s.dir.readOnly || len(h.Programs) == 0 {
		return nil
	}
	h.Driver, h.Time, h.Executable = s.name, h.Time.UTC(), cutName(h.Executable)
	h.Programs = slices.Clone(h.Programs[:min(len(h.Programs), maxAsked)])
	for i := range h.Programs {
		h.Programs[i].Name = cutName(h.Programs[i].Name)
	}
	return histories.add(s.dir, h)
}

// History returns what processes asked for since [Dir.Zero], here and upstream, in the order
// of their ends. A line that cannot be read is left out.
func (d *Dir) History() (all []History) {
	if d.upstream != nil {
		all = d.upstream.History()
	}
	return append(all, slices.DeleteFunc(histories.since(d, time.Time{}), func(h History) bool { return len(h.Programs) > maxAsked })...)
}

// StartSet returns what starts of an executable asked for, on any driver: "" is any
// executable. The programs of most starts come first; of as many, those that were asked
// for earlier.
func (d *Dir) StartSet(executable string) []Asked {
	index := map[shader.Key]int{}
	var set []Asked
	for _, h := range d.History() {
		if executable != "" && h.Executable != executable {
			continue
		}
		for _, p := range h.Programs {
			i, known := index[p.Key]
			if !known {
				i = len(set)
				index[p.Key], set = i, append(set, Asked{Key: p.Key})
			}
			s := &set[i]
			s.Name, s.Checked = p.Name, s.Checked || p.Checked
			s.Millis += (p.Millis - s.Millis) / float64(s.Starts+1)
			s.Starts++
		}
	}
	slices.SortStableFunc(set, func(a, b Asked) int {
		return cmp.Or(cmp.Compare(b.Starts, a.Starts), cmp.Compare(a.Millis, b.Millis))
	})
	return set
}

// StartSet calls Dir.StartSet.
func (s *Store) StartSet(executable string) []Asked { return s.dir.StartSet(executable) }
