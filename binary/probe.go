package binary

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/shadercache/shadercache/shader"
)

// probe.json holds measured properties of a driver, which GL does not report. The result
// is valid for this fingerprint only. A file with any fault counts as missing, and the
// driver is probed again.
const (
	probeName   = "probe.json"
	probeSchema = 1
)

var probes = whole[probeFile]{name: probeName, limit: 1 << 20}

type probeFile struct {
	Schema      int             `json:"schema"`
	Fingerprint shader.Digest   `json:"fingerprint"`
	Result      json.RawMessage `json:"result"`
}

// Probe returns the result that PutProbe stored. It returns ErrNotFound where there is
// none, and an error that matches ErrDamaged for a file that PutProbe did not write for this driver.
func (s *Store) Probe() ([]byte, error) {
	file, err := probes.read(s.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, ErrNotFound
	case err != nil:
		return nil, err
	case file.Schema != probeSchema || file.Fingerprint != s.digest || len(file.Result) == 0:
		return nil, &damagedError{Path: filepath.Join(s.path, probeName), Reason: "is of another driver or version"}
	}
	return file.Result, nil
}

// PutProbe stores the result of a probe, which must be JSON. Readers see the old result
// or the new one. In an upstream directory it returns ErrReadOnly.
func (s *Store) PutProbe(result []byte) error {
	return wrap("put probe", s.writeJSON(filepath.Join(s.path, probeName), probeFile{probeSchema, s.digest, result}))
}
