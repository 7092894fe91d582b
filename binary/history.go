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
var histories = appended[history]{
	name: "history.jsonl", above: 1 << 20, limit: 8 << 20,
	time:    func(h history) time.Time { return h.Time },
	shorten: laterHalf[history],
}

// maxAsked is the largest number of programs of a line: 1,000 take about 120 KB.
const maxAsked = 1000

// history is what one process asked for.
type history struct {
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
	Millis float64    `json:"ms"`               // since its cache was opened; of several, on average
	Starts int        `json:"starts,omitempty"` // processes; 0 = this one

	Checked bool `json:"checked,omitempty"` // its source has a check
}

// PutHistory records what a process asked for, whose cache was opened at a time, in the order
// in which it did; the first 1,000 are kept. executable is the name of its file.
func (s *Store) PutHistory(opened time.Time, executable string, asked []Asked) error {
	if s.dir.readOnly || len(asked) == 0 {
		return nil
	}
	h := history{opened.UTC(), s.name, cutName(executable), slices.Clone(asked[:min(len(asked), maxAsked)])}
	for i := range h.Programs {
		h.Programs[i].Name = cutName(h.Programs[i].Name)
	}
	return histories.add(s.dir, h)
}

// history returns what processes asked for since [Dir.Zero], here and upstream, in the order
// of their ends. A line that cannot be read is left out.
func (d *Dir) history() (all []history) {
	if d.upstream != nil {
		all = d.upstream.history()
	}
	return append(all, slices.DeleteFunc(histories.since(d, time.Time{}), func(h history) bool { return len(h.Programs) > maxAsked })...)
}

// StartSet returns what starts of an executable asked for, on any driver: "" is any
// executable. The programs of most starts come first; of as many, those that were asked
// for earlier.
func (d *Dir) StartSet(executable string) []Asked {
	index := map[shader.Key]int{}
	var set []Asked
	for _, h := range d.history() {
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
