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

	// maxManifestBytes is enough for 300,000 programs.
	maxManifestBytes = 64 << 20

	// manifestLine is about the size of a program in the manifest.
	manifestLine = 260
)

// Manifest lists the content of a bundle. Its signature covers all files by their
// checksums.
type Manifest struct {
	Schema       int           `json:"schema"`
	Created      time.Time     `json:"created"` // compile time of the newest program
	Fingerprints []Fingerprint `json:"fingerprints"`
	Files        []File        `json:"files"`
}

// Fingerprint is a driver whose programs are in a bundle.
type Fingerprint struct {
	Dir         string             `json:"dir"`
	Digest      shader.Digest      `json:"digest"`
	Fingerprint binary.Fingerprint `json:"fingerprint"`
}

// File is one file of a bundle. Path is its path below the cache directory.
type File struct {
	Path   string        `json:"path"`
	Kind   Kind          `json:"kind"`
	Size   int64         `json:"size"`
	SHA256 shader.Digest `json:"sha256"`

	offset int64 // in the spool of an export
}

// encode sorts the manifest and returns its bytes.
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

// appendFiles appends the files to an encoded manifest without them, one at a time:
// encoding 100,000 files as one value would take several times their memory.
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

// decodeManifest decodes the bytes of encode and refuses all others: another order, an
// unknown field, a path that Export does not write.
func decodeManifest(data []byte) (*Manifest, error) {
	m := &Manifest{}
	if err := json.Unmarshal(data, m); err != nil {
		return nil, refused(manifestName, "%v", err)
	}
	if m.Schema != manifestSchema {
		return nil, refused(manifestName, "schema %d, and this program reads schema %d", m.Schema, manifestSchema)
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	// Only bytes in the form of encode are encoded to the same bytes again.
	if again, err := m.encode(); err != nil || !bytes.Equal(again, data) {
		return nil, refused(manifestName, "it is not in the form that Export writes")
	}
	return m, nil
}

// validate checks the fingerprints and the files.
func (m *Manifest) validate() error {
	known := map[string]bool{}
	for _, f := range m.Fingerprints {
		if f.Digest != f.Fingerprint.Digest() || f.Dir != f.Fingerprint.DirName() || known[f.Dir] {
			return refused(manifestName, "fingerprint %q does not match its digest, or is there twice", f.Dir)
		}
		known[f.Dir] = true
	}
	before := ""
	for i, f := range m.Files {
		if err := f.validate(); err != nil {
			return err
		}
		if f.Path <= before {
			return refused(f.Path, "it is there twice, or out of order")
		}
		before = f.Path
		if f.ofDriver() && !known[f.topFolder()] {
			return refused(f.Path, "its fingerprint is not in the manifest")
		}
		if f.Kind == NVIDIA && !m.paired(i) {
			return refused(f.Path, "the other file of its slot is missing")
		}
	}
	return nil
}

// paired reports whether the manifest has both files of the NVIDIA slot of file i. They
// are adjacent in the order of paths.
func (m *Manifest) paired(i int) bool {
	if stem, isBin := strings.CutSuffix(m.Files[i].Path, ".bin"); isBin {
		return i+1 < len(m.Files) && m.Files[i+1].Path == stem+".toc"
	}
	return i > 0 && m.Files[i-1].Path == strings.TrimSuffix(m.Files[i].Path, ".toc")+".bin"
}

// bytes returns the size of all files.
func (m *Manifest) bytes() (total int64) {
	for _, f := range m.Files {
		total += f.Size
	}
	return total
}
