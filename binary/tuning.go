package binary

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"time"

	"github.com/shadercache/shadercache/internal/strict"
	"github.com/shadercache/shadercache/shader"
)

// Tuning is the fastest choice for one problem with one driver. The store does not
// interpret problems and choices: the tuner defines both.
type Tuning struct {
	Problem    string          `json:"problem"`    // canonical text: equal problems have equal texts
	Choice     json.RawMessage `json:"choice"`     // as the tuner encodes it
	Nanos      float64         `json:"nanos"`      // of one run
	GFLOPS     float64         `json:"gflops"`     // floating point operations per nanosecond
	MaxError   float64         `json:"max_error"`  // of the result, as the tuner measures it
	Candidates int             `json:"candidates"` // number of choices that were compared
	Created    time.Time       `json:"created"`
}

// tuningFile is tuning/<digest of the problem>.json. The sum covers the bytes of the
// tuning and the driver's digest: a damaged file, or one of another driver, does not
// match.
type tuningFile struct {
	Schema int             `json:"schema"`
	Sum    shader.Digest   `json:"sum"`
	Tuning json.RawMessage `json:"tuning"`
}

const (
	tuningName   = "tuning"
	tuningSchema = 1

	// maxTuningBytes bounds a file. A choice has a few numbers.
	maxTuningBytes = 16 << 10
)

// tuningsOf is the kind of the tunings of a driver. The key is the digest of the problem.
func tuningsOf(fingerprint shader.Digest) perKey[Tuning] {
	return perKey[Tuning]{folder: tuningName, ext: ".json", limit: maxTuningBytes,
		decode: func(key shader.Key, data []byte) (Tuning, error) { return decodeTuning(fingerprint, key, data) }}
}

func problemKey(problem string) shader.Key { return sha256.Sum256([]byte(problem)) }

// Tuning reads the tuning of a problem, from the upstream directory where this one has
// none. It returns ErrNotFound where neither has one, and an error that matches ErrDamaged for a file that
// PutTuning did not write, which callers treat as missing.
func (s *Store) Tuning(problem string) (Tuning, error) {
	kind, key := tuningsOf(s.digest), problemKey(problem)
	t, _, err := kind.read(s.path, key)
	for level := s.upstream; level != nil && err != nil; level = level.upstream {
		if other, _, upErr := kind.read(level.path, key); upErr == nil {
			return other, nil
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Tuning{}, ErrNotFound
	case err == nil || errors.Is(err, ErrDamaged):
		return t, err
	}
	return Tuning{}, wrap("get tuning of "+problem, err)
}

// PutTuning stores a tuning and replaces one of the same problem. It sets a zero Created
// to the current time.
func (s *Store) PutTuning(t Tuning) error {
	if t.Created.IsZero() {
		t.Created = s.dir.now()
	}
	t.Created = t.Created.UTC().Round(0)
	data, err := s.encodeTuning(t)
	if err == nil {
		err = s.writeInto(s.TuningPath(t.Problem), data)
	}
	return wrap("put tuning of "+t.Problem, err)
}

// Tunings yields the tunings of this driver, in the order of their file names, without
// those of an upstream directory. For a tuning that cannot be read it yields an error,
// which names the file.
func (s *Store) Tunings() iter.Seq2[Tuning, error] { return tuningsOf(s.digest).all(s.path) }

// TuningPath returns the file of a problem's tuning, which may not exist.
func (s *Store) TuningPath(problem string) string {
	return tuningsOf(s.digest).path(s.path, problemKey(problem))
}

func (s *Store) encodeTuning(t Tuning) ([]byte, error) {
	if err := t.validate(); err != nil {
		return nil, err
	}
	inner, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(tuningFile{tuningSchema, tuningSum(s.digest, inner), inner})
	if len(data) >= maxTuningBytes {
		err = errors.Join(err, fmt.Errorf("%d bytes, at most %d are possible", len(data), maxTuningBytes-1))
	}
	return append(data, '\n'), err
}

// decodeTuning decodes what encodeTuning encoded, and nothing else. In a store whose
// fingerprint is lost every tuning counts as damaged, because its driver cannot be
// checked.
func decodeTuning(fingerprint shader.Digest, key shader.Key, data []byte) (Tuning, error) {
	var file tuningFile
	if err := strict.Unmarshal(data, &file); err != nil {
		return Tuning{}, damaged("%v", err)
	}
	if file.Schema != tuningSchema {
		return Tuning{}, damaged("schema %d, this is schema %d", file.Schema, tuningSchema)
	}
	if file.Sum != tuningSum(fingerprint, file.Tuning) {
		return Tuning{}, damaged("the sum is wrong, or another driver made it")
	}
	var t Tuning
	if err := strict.Unmarshal(file.Tuning, &t); err != nil {
		return Tuning{}, damaged("%v", err)
	}
	if err := t.validate(); err != nil {
		return Tuning{}, damaged("%v", err)
	}
	if problemKey(t.Problem) != key {
		return Tuning{}, damaged("holds the tuning of %q", t.Problem)
	}
	return t, nil
}

// tuningSum returns the SHA-256 of a driver's digest and the bytes of a tuning.
func tuningSum(fingerprint shader.Digest, tuning []byte) shader.Digest {
	h := sha256.New()
	h.Write(fingerprint[:])
	h.Write(tuning)
	return shader.Digest(h.Sum(nil))
}

func (t Tuning) validate() error {
	finite := true
	for _, v := range []float64{t.Nanos, t.GFLOPS, t.MaxError} {
		finite = finite && v >= 0 && v <= math.MaxFloat64
	}
	switch {
	case t.Problem == "":
		return errors.New("there is no problem")
	case !json.Valid(t.Choice):
		return errors.New("the choice is not JSON")
	case !finite || t.Candidates < 0:
		return errors.New("a figure is negative or not a number")
	}
	return nil
}
