package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

const (
	manifestName   = "manifest.json"
	signatureName  = "manifest.sig"
	manifestSchema = 1

	// maxManifestBytes is room for 300,000 programs.
	maxManifestBytes = 64 << 20

	// manifestLine is about what a program takes there.
	manifestLine = 260
)

// Manifest says what is in a bundle. Its signature covers everything else: each
// file is here with its sum.
type Manifest struct {
	Schema       int           `json:"schema"`
	Created      time.Time     `json:"created"` // when the latest of its programs was compiled
	Fingerprints []Fingerprint `json:"fingerprints"`
	Files        []File        `json:"files"`
}

// Fingerprint is a driver whose programs are in a bundle.
type Fingerprint struct {
	Dir         string             `json:"dir"`
	Digest      shader.Digest      `json:"digest"`
	Fingerprint binary.Fingerprint `json:"fingerprint"`
}

// File is one file of a bundle. Its path is that below the cache directory.
type File struct {
	Path   string        `json:"path"`
	Kind   Kind          `json:"kind"`
	Size   int64         `json:"size"`
	SHA256 shader.Digest `json:"sha256"`

	place int64 // offset in the spool of an export
}

// encode writes the manifest, sorted.
func (m *Manifest) encode() ([]byte, error) {
	slices.SortFunc(m.Fingerprints, func(a, b Fingerprint) int { return cmp.Compare(a.Dir, b.Dir) })
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	empty := *m
	empty.Files = []File{}
	data, err := json.MarshalIndent(empty, "", " ")
	if err != nil || len(m.Files) == 0 {
		return append(data, '\n'), err
	}
	return m.appendFiles(bytes.TrimSuffix(data, []byte("]\n}")))
}

// appendFiles completes a manifest that has none, a file at a time: as one value,
// 100,000 of them would take several times their memory.
func (m *Manifest) appendFiles(data []byte) ([]byte, error) {
	data = slices.Grow(data, manifestLine*len(m.Files))
	separator := "\n  "
	for _, f := range m.Files {
		line, err := json.MarshalIndent(f, "  ", " ")
		if err != nil {
			return nil, err
		}
		data = append(append(data, separator...), line...)
		separator = ",\n  "
	}
	return append(data, "\n ]\n}\n"...), nil
}

// decodeManifest reads what encode wrote and refuses everything else: another
// order, a field that is not known, a path that no export writes.
func decodeManifest(data []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, refused(manifestName, "%v", err)
	}
	if m.Schema != manifestSchema {
		return nil, refused(manifestName, "schema %d, and this program reads schema %d", m.Schema, manifestSchema)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	// What was sorted, known and written once comes out as it went in.
	if again, err := m.encode(); err != nil || !bytes.Equal(again, data) {
		return nil, refused(manifestName, "it is not in the form that an export writes")
	}
	return m, nil
}

func (m *Manifest) check() error {
	known := map[string]bool{}
	for _, f := range m.Fingerprints {
		if f.Digest != f.Fingerprint.Digest() || f.Dir != f.Fingerprint.DirName() || known[f.Dir] {
			return refused(manifestName, "fingerprint %q is not what it says, or there twice", f.Dir)
		}
		known[f.Dir] = true
	}
	before := ""
	for i, f := range m.Files {
		if err := f.check(); err != nil {
			return err
		}
		if f.Path <= before {
			return refused(f.Path, "it is there twice, or not in its place")
		}
		before = f.Path
		if f.ofDriver() && !known[f.fingerprintDir()] {
			return refused(f.Path, "its fingerprint is not in the manifest")
		}
		if f.Kind == NVIDIA && !m.paired(i) {
			return refused(f.Path, "the other file of its slot is missing")
		}
	}
	return nil
}

// paired says whether both files of the NVIDIA slot of file i are there. In the
// order of paths they are neighbours.
func (m *Manifest) paired(i int) bool {
	if stem, isBin := strings.CutSuffix(m.Files[i].Path, ".bin"); isBin {
		return i+1 < len(m.Files) && m.Files[i+1].Path == stem+".toc"
	}
	return i > 0 && m.Files[i-1].Path == strings.TrimSuffix(m.Files[i].Path, ".toc")+".bin"
}

// bytes is the size of all files.
func (m *Manifest) bytes() (total int64) {
	for _, f := range m.Files {
		total += f.Size
	}
	return total
}
