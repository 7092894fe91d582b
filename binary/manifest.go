package binary

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/shadercache/shadercache/shader"
)

const (
	manifestName   = "manifest.json"
	manifestSchema = 1
	// maxManifest is the number of programs from which the manifest lists none: at 430
	// bytes each it would take longer to write than everything else.
	maxManifest = 10_000
)

// manifest is manifest.json: the index of one store, for people and scripts. The package
// reads only the fingerprint, where fingerprint.json is damaged.
type manifest struct {
	Schema      int               `json:"schema"`
	Fingerprint Fingerprint       `json:"fingerprint"`
	Digest      shader.Digest     `json:"digest"`
	Updated     time.Time         `json:"updated"`
	Omitted     int               `json:"omitted,omitempty"` // programs, if there are too many
	Programs    []manifestProgram `json:"programs"`          // sorted by name, then key
}

type manifestProgram struct {
	Key           shader.Key `json:"key"`
	Name          string     `json:"name"`
	File          string     `json:"file"` // below the manifest's directory, with slashes
	Bytes         int64      `json:"bytes"`
	RawBytes      int64      `json:"raw_bytes"`
	Created       time.Time  `json:"created"`
	CompileMillis float64    `json:"compile_ms"` // 0 = unknown
	LoadMillis    float64    `json:"load_ms"`    // 0 = unknown
	LastUse       time.Time  `json:"last_use"`
	Hits          uint64     `json:"hits"`

	// Left out where they are not known.
	GPUMillis         float64 `json:"gpu_ms,omitempty"`
	GFLOPS            float64 `json:"gflops,omitempty"`
	FirstResultMillis float64 `json:"first_result_ms,omitempty"`
}

var manifests = whole[manifest]{name: manifestName, unsynced: true}

func (s *Store) writeManifest(c *contents) error {
	omitted, keys := 0, slices.SortedFunc(maps.Keys(c.programs), func(a, b shader.Key) int {
		return cmp.Or(cmp.Compare(c.programs[a].Name, c.programs[b].Name), compareKeys(a, b))
	})
	if len(keys) > maxManifest {
		omitted, keys = len(keys), nil
	}
	programs := make([]manifestProgram, 0, len(keys))
	for _, key := range keys {
		programs = append(programs, newManifestProgram(c.programs[key]))
	}
	return manifests.write(s.path, manifest{manifestSchema, s.fingerprint, s.digest, s.dir.now().UTC(), omitted, programs})
}

// manifestFingerprint returns the fingerprint in manifest.json, which is before the
// programs. It returns another one, or zero, where the manifest is damaged or missing.
func (s *Store) manifestFingerprint() Fingerprint {
	f, _, err := openRegular(s.file(manifestName))
	if err != nil {
		return Fingerprint{}
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, maxFingerprintBytes))
	if err != nil {
		return Fingerprint{}
	}
	var m manifest
	head, _, _ = bytes.Cut(head, []byte("\n  \"programs\": ["))
	_ = json.Unmarshal(append(bytes.TrimSuffix(head, []byte(",")), '}'), &m)
	return m.Fingerprint
}

func newManifestProgram(e Entry) manifestProgram {
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

		GPUMillis:         millis(e.GPUNanos),
		GFLOPS:            e.GFLOPS,
		FirstResultMillis: millis(e.FirstResultNanos),
	}
}

func millis(nanos int64) float64 { return float64(nanos) / float64(time.Millisecond) }
