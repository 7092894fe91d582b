package binary

import (
	"iter"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

const (
	failedName  = "failed"
	maxLogBytes = 4 << 20
	// failureAge is the age at which prune deletes a recorded compile error.
	failureAge = 30 * 24 * time.Hour
)

// failure is failed/<key>.json: the compile error of a source with this driver.
type failure struct {
	Key  shader.Key `json:"key"`
	Name string     `json:"name"`
	Time time.Time  `json:"time"`
	Log  string     `json:"log"` // the driver's, cut to maxLogBytes
}

var failures = perKey[failure]{folder: failedName, ext: ".json", limit: 16 << 20,
	decode: decodeKeyed(func(f failure) shader.Key { return f.Key })}

// PutFailure records that the store's driver does not compile a source.
func (s *Store) PutFailure(src *shader.Source, log string) error {
	log = strings.ToValidUTF8(log[:min(len(log), maxLogBytes)], "?")
	f := failure{src.Key(), cutName(src.Name()), s.dir.now().UTC(), log}
	return wrap("record a compile error", s.writeJSON(failures.path(s.path, src.Key()), f))
}

// Failure returns the compile error that PutFailure recorded for a source, and nil where
// there is none or it cannot be read.
func (s *Store) Failure(src *shader.Source) *shader.CompileError {
	f, _, err := failures.read(s.path, src.Key())
	if err != nil {
		return nil
	}
	return &shader.CompileError{Name: src.Name(), Log: f.Log, Source: src}
}

// Failures yields the keys and names of the sources with a recorded compile error. It
// leaves out records that cannot be read.
func (s *Store) Failures() iter.Seq2[shader.Key, string] {
	return func(yield func(shader.Key, string) bool) {
		for f, err := range failures.all(s.path) {
			if err == nil && !yield(f.Key, f.Name) {
				return
			}
		}
	}
}

// ForgetFailure deletes the recorded compile error of a source, so that the next request
// compiles it again. It returns nil where there is none.
func (s *Store) ForgetFailure(key shader.Key) error {
	return wrap("delete a compile error", removeIfExists(failures.path(s.path, key)))
}
