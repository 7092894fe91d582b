package binary

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// maxSimilar bounds the programs of the same name that an Explanation has.
const maxSimilar = 10

// FieldDiff is one field in which two fingerprints differ.
type FieldDiff struct {
	Field  string `json:"field"` // as in fingerprint.json
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// Diff lists the fields in which other differs from f: none where both have the
// same digest.
func (f Fingerprint) Diff(other Fingerprint) []FieldDiff {
	var list []FieldDiff
	differ := func(field string, ours, theirs any) {
		if a, b := fmt.Sprint(ours), fmt.Sprint(theirs); a != b {
			list = append(list, FieldDiff{field, a, b})
		}
	}
	differ("vendor", f.Vendor, other.Vendor)
	differ("renderer", f.Renderer, other.Renderer)
	differ("version", f.Version, other.Version)
	differ("glsl", f.GLSL, other.GLSL)
	differ("driver_uuid", f.DriverUUID, other.DriverUUID)
	differ("profile", fmt.Sprintf("%#x", f.Profile), fmt.Sprintf("%#x", other.Profile))
	differ("flags", fmt.Sprintf("%#x", f.Flags), fmt.Sprintf("%#x", other.Flags))
	differ("formats", fmt.Sprintf("%#x", f.Formats), fmt.Sprintf("%#x", other.Formats))
	differ("pointer_bits", f.PointerBits, other.PointerBits)
	return list
}

// Explanation says why a program is, or is not, found for a driver.
type Explanation struct {
	Key        shader.Key    `json:"key"`
	Name       string        `json:"name"`
	Stored     bool          `json:"stored"`               // a sound blob is there
	Upstream   bool          `json:"upstream,omitempty"`   // it is in the upstream directory only
	Checked    bool          `json:"checked,omitempty"`    // it gave the right answer to its source's check once
	Damage     string        `json:"damage,omitempty"`     // of the blob that is there
	Rejected   string        `json:"aside,omitempty"`      // time and reason of the last one that was set aside
	Quarantine *Quarantined  `json:"quarantine,omitempty"` // a process died of it
	Failure    string        `json:"failure,omitempty"`    // log of a compile that failed, where that is kept
	Others     []OtherDriver `json:"others"`               // drivers that have the program
	Similar    []Similar     `json:"similar"`              // programs of the same name, of this driver; at most 10
}

// OtherDriver is another driver's part of the cache directory that has a blob
// of the program.
type OtherDriver struct {
	Dir   string      `json:"dir"`
	Diffs []FieldDiff `json:"diffs"` // from our fingerprint; empty where theirs is lost
}

// Similar is a program with the same name and another text.
type Similar struct {
	Key  shader.Key       `json:"key"`
	Diff *shader.LineDiff `json:"diff,omitempty"` // nil where one of the sources is not kept
}

// Unloadable reports whether the blob, wherever it is, is not loaded because a
// process died of that: then the program is compiled at every start until the
// quarantine ends.
func (e Explanation) Unloadable() bool {
	return e.Quarantine != nil && e.Quarantine.Action == ActionLoad
}

// Why explains what a request for the program of key would meet, here and in the
// upstream directory. src is its source; nil = the one that is kept, if any. It
// opens all blobs of this driver for their names and writes nothing.
func (s *Store) Why(key shader.Key, src *shader.Source) (Explanation, error) {
	e := Explanation{Key: key}
	if src == nil {
		src, _ = s.dir.Source(key)
	}
	if src != nil {
		e.Name, e.Failure = src.Name(), s.failureLog(src)
	}
	s.explainBlob(&e)
	if note, err := os.ReadFile(filepath.Join(s.path, asideName, key.String()+blobExt+reasonExt)); err == nil {
		e.Rejected = strings.TrimSpace(string(note))
	}
	if q, err := s.readQuarantine(key); err == nil && q.stands(s.dir.now()) {
		e.Quarantine = &q
	}
	e.Similar = s.similar(key, e.Name, src)
	var err error
	e.Others, err = s.others(key)
	return e, err
}

// explainBlob looks for the blob as Get does.
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

// others finds the drivers that have a program, here or upstream.
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

// similar finds other programs of a name, here and then upstream.
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
