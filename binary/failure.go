package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

const (
	failedName      = "failed"
	failedExt       = ".json"
	maxFailureBytes = 4 << 20
	maxLogBytes     = 1 << 20
	// failureAge is when prune forgets that a source does not compile.
	failureAge = 30 * 24 * time.Hour
)

// failure is failed/<key>.json: that this driver refuses a source, and why.
type failure struct {
	Key  shader.Key `json:"key"`
	Name string     `json:"name"`
	Time time.Time  `json:"time"`
	Log  string     `json:"log"` // the driver's, cut to maxLogBytes
}

// PutFailure remembers that the driver of the store refuses a source.
func (s *Store) PutFailure(src *shader.Source, log string) error {
	log = strings.ToValidUTF8(log[:min(len(log), maxLogBytes)], "?")
	data, err := json.MarshalIndent(failure{src.Key(), cutName(src.Name()), s.dir.now().UTC(), log}, "", "  ")
	if err == nil {
		err = s.writeInto(s.failurePath(src.Key()), append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("binary: remember a failure: %w", err)
	}
	return nil
}

// Failure is the compile error that PutFailure remembered for a source, or
// nil. What cannot be read counts as unknown.
func (s *Store) Failure(src *shader.Source) *shader.CompileError {
	data, _, err := readRegular(s.failurePath(src.Key()), maxFailureBytes)
	var f failure
	if err != nil || json.Unmarshal(data, &f) != nil || f.Key != src.Key() {
		return nil
	}
	return &shader.CompileError{Name: src.Name(), Log: f.Log, Source: src}
}

// ForgetFailure makes the next request for a source compile it again. It is no
// error where nothing was remembered.
func (s *Store) ForgetFailure(key shader.Key) error {
	if err := os.Remove(s.failurePath(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("binary: forget a failure: %w", err)
	}
	return nil
}

func (s *Store) failurePath(key shader.Key) string {
	return filepath.Join(s.path, failedName, key.String()+failedExt)
}
