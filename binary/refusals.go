package binary

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// refusals.json exists for a driver that has refused binaries of its own. It counts what
// the driver loaded and refused of the store, of late: older counts are halved again and again.
// Binaries upstream may be what another driver made. Once
// it refused most, binaries are not used for refusalAge: writing them again at each start
// only costs time. Another driver, and so an update, has another directory and no such
// file. A file with any fault counts as missing. When two processes write it at the same
// moment, the counts of one may be lost.
const (
	refusalsName   = "refusals.json"
	refusalsSchema = 1

	minRefused = 8  // before binaries are given up: a few starts of a small program
	maxOutcome = 64 // loaded and refused together, above which both are halved
	refusalAge = 30 * 24 * time.Hour
)

var refusals = whole[refusalsFile]{name: refusalsName, limit: 4 << 10}

type refusalsFile struct {
	Schema      int           `json:"schema"`
	Fingerprint shader.Digest `json:"fingerprint"`
	Loaded      uint64        `json:"loaded"`
	Refused     uint64        `json:"refused"`
	Since       time.Time     `json:"source_only_since,omitzero"` // zero: binaries are used
}

// SourceOnly returns why the binaries of the driver are not worth using, and "" where they
// are: the driver refused most of those that it was given within the last 30 days, or its
// program binaries are known to misbehave: see deniedRenderers.
func (s *Store) SourceOnly() (reason string) {
	if s.fingerprint.denied() {
		return "program binaries of " + s.fingerprint.Renderer + " are known to misbehave"
	}
	file := s.readRefusals()
	if file.Since.IsZero() {
		return ""
	}
	return fmt.Sprintf("the driver refused %d of %d binaries of its own; they are tried again after %s",
		file.Refused, file.Loaded+file.Refused, file.Since.Add(refusalAge).Format(time.DateOnly))
}

// readRefusals returns the zero value where there is no file, or an expired one.
func (s *Store) readRefusals() refusalsFile {
	file, err := refusals.read(s.path)
	if err != nil || file.Schema != refusalsSchema || file.Fingerprint != s.digest {
		return refusalsFile{}
	}
	if age := s.dir.now().Sub(file.Since); !file.Since.IsZero() && (age > refusalAge || age < 0) {
		return refusalsFile{}
	}
	return file
}

// recordRefusals counts what the driver did with the binaries that a process gave it.
func (s *Store) recordRefusals(c Counters) {
	file := s.readRefusals()
	loaded, refused := c.DiskHits-c.UpstreamHits, c.Rejected+c.WrongAnswers-c.UpstreamRejected
	if refused == 0 && (loaded == 0 || file.Schema == 0) {
		return // no driver that works has a file
	}
	file.Schema, file.Fingerprint = refusalsSchema, s.digest
	file.Loaded, file.Refused = file.Loaded+loaded, file.Refused+refused
	if file.Since.IsZero() && file.Refused >= minRefused && file.Refused > file.Loaded {
		file.Since = s.dir.now().UTC()
	}
	for file.Loaded+file.Refused > maxOutcome {
		file.Loaded, file.Refused = file.Loaded/2, file.Refused/2
	}
	_ = s.writeJSON(filepath.Join(s.path, refusalsName), file) // else a later start counts
}

// deniedRenderers lists drivers whose program binaries load and then draw or compute wrong, or end
// the process, as others found. Compiling their sources works.
//
//	renderer begins with      reported by
//	Adreno (TM) 2 to 5        github.com/mapbox/mapbox-gl-native/pull/9574 and 11047, crbug.com/510637
//	Vivante GC4000            github.com/mapbox/mapbox-gl-native/issues/10704
//	PowerVR Rogue             anglebug.com/42263580: ANGLE offers no binaries there
var deniedRenderers = []string{"Adreno (TM) 2", "Adreno (TM) 3", "Adreno (TM) 4", "Adreno (TM) 5", "Vivante GC4000", "PowerVR Rogue"}

// denied reports whether the program binaries of this driver are known to misbehave.
func (f Fingerprint) denied() bool {
	return slices.ContainsFunc(deniedRenderers, func(renderer string) bool { return strings.HasPrefix(f.Renderer, renderer) })
}
