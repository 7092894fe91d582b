package binary

import (
	"cmp"
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
// driver for their names and writes nothing. For several programs use an Explainer.
func (s *Store) Explain(key shader.Key, src *shader.Source) (Explanation, error) {
	return s.NewExplainer().Explain(key, src)
}

// Explainer explains programs of one store. It reads the names of all programs once, and
// each stored source that it compares with once. It does not see later changes of them.
// One goroutine at a time uses it.
type Explainer struct {
	store   *Store
	named   map[string][]shader.Key // programs by name, those here before those upstream; nil = not read
	others  []*Store                // of other drivers, here and upstream; nil = not read
	sources map[shader.Key]*shader.Source
}

// NewExplainer returns an Explainer, which has read nothing.
func (s *Store) NewExplainer() *Explainer {
	return &Explainer{store: s, sources: map[shader.Key]*shader.Source{}}
}

// Explain does what Store.Explain does.
func (x *Explainer) Explain(key shader.Key, src *shader.Source) (Explanation, error) {
	s, e := x.store, Explanation{Key: key}
	if src == nil {
		src = x.source(key)
	}
	if src != nil {
		e.Name = src.Name()
	}
	if failure, _, err := failures.read(s.path, key); err == nil {
		e.Failure, e.Name = failure.Log, cmp.Or(e.Name, failure.Name)
	}
	s.explainBlob(&e)
	if note, _, err := readRegular(filepath.Join(s.path, rejectedName, key.String()+blobExt+reasonExt), maxReasonBytes); err == nil {
		e.Rejected = strings.TrimSpace(string(note))
	}
	if q, found := s.Note(key); found {
		e.Quarantine, e.Name = &q, cmp.Or(e.Name, q.Name)
	}
	e.Similar = x.similar(key, e.Name, src)
	var err error
	e.Others, err = x.otherDrivers(key)
	return e, err
}

// source returns a stored source, nil where there is none or it cannot be read.
func (x *Explainer) source(key shader.Key) *shader.Source {
	src, read := x.sources[key]
	if !read {
		src, _ = x.store.dir.Source(key)
		x.sources[key] = src
	}
	return src
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

// otherDrivers lists the other drivers that have a program, here or upstream.
func (x *Explainer) otherDrivers(key shader.Key) ([]OtherDriver, error) {
	if err := x.readOthers(); err != nil {
		return []OtherDriver{}, err
	}
	list, seen := []OtherDriver{}, map[string]bool{x.store.name: true}
	for _, other := range x.others {
		if _, err := os.Lstat(other.blobPath(key)); err != nil || seen[other.name] {
			continue
		}
		seen[other.name] = true
		found := OtherDriver{Dir: other.name, Diffs: []FieldDiff{}}
		if other.digest != (shader.Digest{}) {
			found.Diffs = x.store.fingerprint.Diff(other.fingerprint)
		}
		list = append(list, found)
	}
	return list, nil
}

// readOthers lists the stores of all drivers, once.
func (x *Explainer) readOthers() error {
	if x.others != nil {
		return nil
	}
	others := []*Store{}
	for _, dir := range x.store.dir.levels() {
		stores, err := dir.stores()
		if err != nil {
			return err
		}
		others = append(others, stores...)
	}
	x.others = others
	return nil
}

// similar lists other programs of a name, those here before those upstream.
func (x *Explainer) similar(key shader.Key, name string, src *shader.Source) []Similar {
	list, seen := []Similar{}, map[shader.Key]bool{key: true}
	if name == "" {
		return list
	}
	x.readNames()
	for _, other := range x.named[name] {
		if seen[other] {
			continue
		}
		seen[other] = true
		found := Similar{Key: other}
		if theirs := x.source(other); theirs != nil && src != nil {
			found.Diff = src.Diff(theirs)
		}
		if list = append(list, found); len(list) == maxSimilar {
			break
		}
	}
	return list
}

// readNames reads the names of all programs, once.
func (x *Explainer) readNames() {
	if x.named != nil {
		return
	}
	x.named = map[string][]shader.Key{}
	for level := x.store; level != nil; level = level.upstream {
		for e, err := range level.All() {
			if err == nil {
				x.named[e.Name] = append(x.named[e.Name], e.Key)
			}
		}
	}
}
