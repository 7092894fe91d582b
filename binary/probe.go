package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/shadercache/shadercache/shader"
)

// What was found out about a driver, by whoever probed it, lies beside its
// blobs in probe.json. It is for this fingerprint only, and worth nothing once
// anything about it looks wrong: then the driver is probed again.
const (
	probeName     = "probe.json"
	probeSchema   = 1
	maxProbeBytes = 1 << 20
)

type probeFile struct {
	Schema      int             `json:"schema"`
	Fingerprint shader.Digest   `json:"fingerprint"`
	Result      json.RawMessage `json:"result"`
}

// Probe returns what PutProbe kept. It returns ErrNotFound where there is
// nothing, and a *DamagedError for what PutProbe did not write for this driver.
func (s *Store) Probe() ([]byte, error) {
	path := filepath.Join(s.path, probeName)
	data, _, err := readRegular(path, maxProbeBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	var file probeFile
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, &DamagedError{Path: path, Reason: err.Error()}
	}
	if file.Schema != probeSchema || file.Fingerprint != s.digest || len(file.Result) == 0 {
		return nil, &DamagedError{Path: path, Reason: "it is of another driver or version"}
	}
	return file.Result, nil
}

// PutProbe keeps the result of a probe, which must be JSON. Readers see the
// old one or the new one. In an upstream directory it returns ErrReadOnly.
func (s *Store) PutProbe(result []byte) error {
	data, err := json.MarshalIndent(probeFile{probeSchema, s.digest, result}, "", "  ")
	if err != nil {
		return fmt.Errorf("binary: keep a probe's result: %w", err)
	}
	if err := s.writeInto(filepath.Join(s.path, probeName), append(data, '\n')); err != nil {
		return fmt.Errorf("binary: keep a probe's result: %w", err)
	}
	return nil
}
