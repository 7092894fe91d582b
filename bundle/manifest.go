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

// The text of a manifest is that of json.MarshalIndent with one space, so that it has one
// form: head, filesStart, the files, end.
const (
	filesStart    = "\n \"files\": ["
	firstFile     = "\n  "
	nextFile      = ",\n  "
	fileEnd       = "\n  }"
	manifestEnd   = "\n ]\n}\n"
	noFiles       = "]\n}\n"
	maxHeadBytes  = 256 << 10 // some hundred fingerprints
	maxEntryBytes = 4 << 10   // of one file
)

// encode writes the manifest, sorted. It encodes a file at a time: as one value, 100,000
// of them would take several times their memory.
func (m *Manifest) encode() ([]byte, error) {
	slices.SortFunc(m.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	data, err := m.encodeHead()
	if err != nil {
		return nil, err
	}
	data = append(data, filesStart...)
	if len(m.Files) == 0 {
		return append(data, noFiles...), nil
	}
	data = slices.Grow(data, manifestLine*len(m.Files))
	separator := firstFile
	for _, f := range m.Files {
		line, err := f.encode()
		if err != nil {
			return nil, err
		}
		data = append(append(data, separator...), line...)
		separator = nextFile
	}
	return append(data, manifestEnd...), nil
}

// encodeHead writes what is before the files.
func (m *Manifest) encodeHead() ([]byte, error) {
	slices.SortFunc(m.Fingerprints, func(a, b Fingerprint) int { return cmp.Compare(a.Dir, b.Dir) })
	empty := *m
	empty.Files = []File{}
	data, err := json.MarshalIndent(empty, "", " ")
	return bytes.TrimSuffix(data, []byte(filesStart+strings.TrimSuffix(noFiles, "\n"))), err
}

func (f File) encode() ([]byte, error) { return json.MarshalIndent(f, firstFile[1:], " ") }

// decodeManifest reads what encode wrote and refuses everything else: another order, a
// field that is not known, a path that no export writes. It decodes and checks a file at
// a time, so that a text takes no more memory than the files that it rightly lists.
func decodeManifest(data []byte) (*Manifest, error) {
	m, files, err := decodeHead(data)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, f := range m.Fingerprints {
		if f.Digest != f.Fingerprint.Digest() || f.Dir != f.Fingerprint.DirName() || known[f.Dir] {
			return nil, refused(manifestName, "fingerprint %q is not what it says, or there twice", f.Dir)
		}
		known[f.Dir] = true
	}
	m.Files = []File{}
	separator, end, before := firstFile, noFiles, ""
	for string(files[:min(len(files), len(end)+1)]) != end {
		var f File
		if f, files, err = decodeFile(files, separator); err != nil {
			return nil, err
		}
		if err := f.check(); err != nil {
			return nil, err
		}
		if f.Path <= before {
			return nil, refused(f.Path, "it is there twice, or not in its place")
		}
		if f.ofDriver() && !known[f.fingerprintDir()] {
			return nil, refused(f.Path, "its fingerprint is not in the manifest")
		}
		m.Files = append(m.Files, f)
		separator, end, before = nextFile, manifestEnd, f.Path
	}
	return m, m.checkPairs()
}

// decodeHead decodes all but the files, and returns their text.
func decodeHead(data []byte) (m *Manifest, files []byte, err error) {
	var about struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &about); err != nil {
		return nil, nil, refused(manifestName, "%v", err)
	}
	if about.Schema != manifestSchema {
		return nil, nil, refused(manifestName, "schema %d, and this program reads schema %d", about.Schema, manifestSchema)
	}
	start := bytes.Index(data[:min(len(data), maxHeadBytes)], []byte(filesStart))
	if start < 0 {
		return nil, nil, notCanonical()
	}
	m = &Manifest{}
	if err := json.Unmarshal(append(bytes.Clone(data[:start]), filesStart+noFiles...), m); err != nil {
		return nil, nil, refused(manifestName, "%v", err)
	}
	if again, err := m.encodeHead(); err != nil || !bytes.Equal(again, data[:start]) {
		return nil, nil, notCanonical()
	}
	return m, data[start+len(filesStart):], nil
}

// decodeFile decodes the first of the files and returns the text of the others.
func decodeFile(files []byte, separator string) (f File, rest []byte, err error) {
	files, found := bytes.CutPrefix(files, []byte(separator))
	end := bytes.Index(files[:min(len(files), maxEntryBytes)], []byte(fileEnd))
	if !found || end < 0 {
		return f, nil, notCanonical()
	}
	line, rest := files[:end+len(fileEnd)], files[end+len(fileEnd):]
	if err := json.Unmarshal(line, &f); err != nil {
		return f, nil, refused(manifestName, "%v", err)
	}
	if again, err := f.encode(); err != nil || !bytes.Equal(again, line) {
		return f, nil, notCanonical()
	}
	return f, rest, nil
}

func notCanonical() error {
	return refused(manifestName, "it is not in the form that an export writes")
}

// checkPairs checks that both files of each NVIDIA slot are there.
func (m *Manifest) checkPairs() error {
	for i, f := range m.Files {
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
