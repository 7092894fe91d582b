package binary

import (
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	failedName      = "failed"
	failedExt       = ".json"
	maxFailureBytes = 16 << 20
	maxLogBytes     = 4 << 20
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

// PutFailure records that the store's driver does not compile a source.
func (s *Store) PutFailure(src *shader.Source, log string) error {
	log = strings.ToValidUTF8(log[:min(len(log), maxLogBytes)], "?")
	f := failure{src.Key(), cutName(src.Name()), s.dir.now().UTC(), log}
	if err := s.writeJSON(s.failurePath(src.Key()), f); err != nil {
		return fmt.Errorf("binary: record a compile error: %w", err)
	}
	return nil
}

// Failure returns the compile error that PutFailure recorded for a source, and nil where
// there is none or it cannot be read.
func (s *Store) Failure(src *shader.Source) *shader.CompileError {
	f, err := s.readFailure(src.Key())
	if err != nil {
		return nil
	}
	return &shader.CompileError{Name: src.Name(), Log: f.Log, Source: src}
}

func (s *Store) readFailure(key shader.Key) (f failure, err error) {
	data, _, err := readRegular(s.failurePath(key), maxFailureBytes)
	if err != nil {
		return failure{}, err
	}
	if err := json.Unmarshal(data, &f); err != nil || f.Key != key {
		return failure{}, damaged("record of a compile error")
	}
	return f, nil
}

// Failures yields the keys and names of the sources with a recorded compile error. It
// leaves out records that cannot be read.
func (s *Store) Failures() iter.Seq2[shader.Key, string] {
	return func(yield func(shader.Key, string) bool) {
		for _, file := range osfile.List(filepath.Join(s.path, failedName)) {
			digits, ok := strings.CutSuffix(file.Name(), failedExt)
			key, err := shader.ParseKey(digits)
			if !ok || err != nil {
				continue
			}
			if f, err := s.readFailure(key); err == nil && !yield(key, f.Name) {
				return
			}
		}
	}
}

// ForgetFailure deletes the recorded compile error of a source, so that the next request
// compiles it again. It returns nil where there is none.
func (s *Store) ForgetFailure(key shader.Key) error {
	if err := removeIfExists(s.failurePath(key)); err != nil {
		return fmt.Errorf("binary: delete a compile error: %w", err)
	}
	return nil
}

func (s *Store) failurePath(key shader.Key) string {
	return filepath.Join(s.path, failedName, key.String()+failedExt)
}
