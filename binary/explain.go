package binary

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// Explanation lists what the store holds about one program: why a request for it hits or
// misses.
type Explanation struct {
	Key        shader.Key   `json:"key"`
	Name       string       `json:"name"`
	Stored     bool         `json:"stored"`               // there is a blob that is not damaged
	Upstream   bool         `json:"upstream,omitempty"`   // the blob is in the upstream directory only
	Checked    bool         `json:"checked,omitempty"`    // the blob gave the right answer once
	Damage     string       `json:"damage,omitempty"`     // of a blob that is damaged
	Rejected   string       `json:"rejected,omitempty"`   // time and reason of the blob that was rejected last
	Quarantine *Quarantined `json:"quarantine,omitempty"` // in flight when a process ended
	Failure    string       `json:"failure,omitempty"`    // the log of a recorded compile error
}

// Explain explains what a request for the program of a key finds, here and in the upstream
// directory. It writes nothing.
func (s *Store) Explain(key shader.Key) Explanation {
	e := Explanation{Key: key}
	if failure, _, err := failures.read(s.path, key); err == nil {
		e.Failure, e.Name = failure.Log, failure.Name
	}
	s.explainBlob(&e)
	if note, _, err := readRegular(filepath.Join(s.path, rejectedName, key.String()+blobExt+reasonExt), maxReasonBytes); err == nil {
		e.Rejected = strings.TrimSpace(string(note))
	}
	if q, found := s.Note(key); found {
		e.Quarantine, e.Name = &q, cmp.Or(e.Name, q.Name)
	}
	return e
}

// explainBlob reads the blob as Get does.
func (s *Store) explainBlob(e *Explanation) {
	b, _, err := s.read(e.Key)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.Damage = err.Error()
	}
	if err != nil {
		if b = s.upstreamBlob(e.Key); b != nil {
			err, e.Upstream = nil, true
		}
	}
	if h, _, headerErr := s.readHeader(e.Key); headerErr == nil && e.Name == "" {
		e.Name = h.Name // of a damaged blob too
	}
	if err != nil {
		return
	}
	e.Stored, e.Checked = true, s.Checked(b)
	e.Name = cmp.Or(e.Name, b.Name)
}
