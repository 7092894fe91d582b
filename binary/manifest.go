package binary

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

const (
	manifestName   = "manifest.json"
	manifestSchema = 1
)

// manifest is manifest.json: the index of one store, for people and scripts.
// Nothing reads it back.
type manifest struct {
	Schema      int               `json:"schema"`
	Fingerprint Fingerprint       `json:"fingerprint"`
	Digest      Digest            `json:"digest"`
	Updated     time.Time         `json:"updated"`
	Programs    []manifestProgram `json:"programs"` // sorted by name, then key
}

type manifestProgram struct {
	Key           Key       `json:"key"`
	Name          string    `json:"name"`
	File          string    `json:"file"` // below the manifest's directory, with slashes
	Bytes         int64     `json:"bytes"`
	RawBytes      int64     `json:"raw_bytes"`
	Created       time.Time `json:"created"`
	CompileMillis float64   `json:"compile_ms"` // 0 = unknown
	LoadMillis    float64   `json:"load_ms"`    // 0 = unknown
	LastUse       time.Time `json:"last_use"`
	Hits          uint64    `json:"hits"`
}

func (s *Store) manifestPath() string { return filepath.Join(s.path, manifestName) }

func (s *Store) writeManifest(c *contents) error {
	m := manifest{
		Schema:      manifestSchema,
		Fingerprint: s.fingerprint,
		Digest:      s.digest,
		Updated:     s.dir.now().UTC(),
		Programs:    make([]manifestProgram, 0, len(c.programs)),
	}
	for _, e := range slices.SortedFunc(maps.Values(c.programs), compareEntries) {
		m.Programs = append(m.Programs, s.manifestProgram(e))
	}
	data, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(s.manifestPath(), append(data, '\n'))
}

func (s *Store) manifestProgram(e Entry) manifestProgram {
	digits := e.Key.String()
	return manifestProgram{
		Key:           e.Key,
		Name:          e.Name,
		File:          blobsName + "/" + digits[:2] + "/" + digits + blobExt,
		Bytes:         e.Bytes,
		RawBytes:      e.RawBytes,
		Created:       e.Created,
		CompileMillis: millis(e.CompileNanos),
		LoadMillis:    millis(e.LoadNanos),
		LastUse:       e.LastUse,
		Hits:          e.Hits,
	}
}

func millis(nanos int64) float64 { return float64(nanos) / float64(time.Millisecond) }
