package binary

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// maxSimilar bounds Explanation.Similar.
const maxSimilar = 10

// Explanation lists what the store holds about one program: why a request for it hits or
// misses.
type Explanation struct {
	Key        shader.Key    `json:"key"`
	Name       string        `json:"name"`
	Stored     bool          `json:"stored"`               // there is a blob that is not damaged
	Upstream   bool          `json:"upstream,omitempty"`   // the blob is in the upstream directory only
	Checked    bool          `json:"checked,omitempty"`    // the blob gave the right answer once
	Damage     string        `json:"damage,omitempty"`     // of a blob that is damaged
	Rejected   string        `json:"rejected,omitempty"`   // time and reason of the blob that was rejected last
	Quarantine *Quarantined  `json:"quarantine,omitempty"` // in flight when a process ended
	Failure    string        `json:"failure,omitempty"`    // the log of a recorded compile error
	Others     []OtherDriver `json:"others"`               // other drivers that have the program
	Similar    []Similar     `json:"similar"`              // this driver's programs of the same name; at most 10
}

// OtherDriver is another driver that has a blob of the program.
type OtherDriver struct {
	Dir   string      `json:"dir"`
	Diffs []FieldDiff `json:"diffs"` // from this driver's fingerprint; empty where the other is lost
}

// Similar is a program with the same name and another text.
type Similar struct {
	Key  shader.Key       `json:"key"`
	Diff *shader.LineDiff `json:"diff,omitempty"` // nil where one of the sources is not stored
}

// Unloadable reports whether no blob is loaded because the driver crashed while it loaded
// one, or while it returned the binary. The program is then compiled at every start until the quarantine
// ends.
func (e Explanation) Unloadable() bool {
	return e.Quarantine != nil && !e.Quarantine.Suspect && !e.Quarantine.Refused()
}

// Explain explains what a request for the program of key finds, here and in the upstream
// directory. src is its source; nil = the stored one, if any. It opens all blobs of this
// driver for their names and writes nothing.
func (s *Store) Explain(key shader.Key, src *shader.Source) (Explanation, error) {
	e := Explanation{Key: key}
	if src == nil {
		src, _ = s.dir.Source(key)
	}
	if src != nil {
		e.Name, e.Failure = src.Name(), s.failureLog(src)
	}
	s.explainBlob(&e)
	if note, err := os.ReadFile(filepath.Join(s.path, rejectedName, key.String()+blobExt+reasonExt)); err == nil {
		e.Rejected = strings.TrimSpace(string(note))
	}
	if q, found := s.Note(key); found {
		e.Quarantine = &q
	}
	e.Similar = s.similar(key, e.Name, src)
	var err error
	e.Others, err = s.others(key)
	return e, err
}

// explainBlob reads the blob as Get does.
func (s *Store) explainBlob(e *Explanation) {
	b, _, err := s.read(e.Key)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		e.Damage = err.Error()
	}
	if err != nil && s.upstream != nil {
		if b, _, err = s.upstream.read(e.Key); err == nil {
			e.Upstream = true
		} else if !errors.Is(err, os.ErrNotExist) && e.Damage == "" {
			e.Damage = err.Error()
		}
	}
	if h, _, headerErr := s.readHeader(e.Key); headerErr == nil && e.Name == "" {
		e.Name = h.name // of a damaged blob too
	}
	if err != nil {
		return
	}
	e.Stored, e.Checked = true, s.Checked(b)
	if e.Name == "" {
		e.Name = b.Name
	}
}

func (s *Store) failureLog(src *shader.Source) string {
	if failure := s.Failure(src); failure != nil {
		return failure.Log
	}
	return ""
}

// others lists the other drivers that have a program, here or upstream.
func (s *Store) others(key shader.Key) ([]OtherDriver, error) {
	list, seen := []OtherDriver{}, map[string]bool{s.name: true}
	for _, dir := range s.dir.levels() {
		stores, err := dir.stores()
		if err != nil {
			return list, err
		}
		for _, other := range stores {
			if _, err := os.Lstat(other.blobPath(key)); err != nil || seen[other.name] {
				continue
			}
			seen[other.name] = true
			found := OtherDriver{Dir: other.name, Diffs: []FieldDiff{}}
			if other.digest != (shader.Digest{}) {
				found.Diffs = s.fingerprint.Diff(other.fingerprint)
			}
			list = append(list, found)
		}
	}
	return list, nil
}

// similar lists other programs of a name, those here before those upstream.
func (s *Store) similar(key shader.Key, name string, src *shader.Source) []Similar {
	list, seen := []Similar{}, map[shader.Key]bool{key: true}
	for level := s; level != nil && name != ""; level = level.upstream {
		for e, err := range level.All() {
			if err != nil || e.Name != name || seen[e.Key] {
				continue
			}
			seen[e.Key] = true
			found := Similar{Key: e.Key}
			if theirs, err := s.dir.Source(e.Key); err == nil && src != nil {
				found.Diff = src.Diff(theirs)
			}
			if list = append(list, found); len(list) == maxSimilar {
				return list
			}
		}
	}
	return list
}
