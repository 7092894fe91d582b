package pack

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
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
	Dir         string             `json:"dir"`         // its folder in the cache directory
	Digest      shader.Digest      `json:"digest"`      // of the fingerprint
	Fingerprint binary.Fingerprint `json:"fingerprint"` // which driver
}

// File is one file of a bundle. Path is its path below the cache directory.
type File struct {
	Path   string        `json:"path"`
	Kind   Kind          `json:"kind"`
	Size   int64         `json:"size"`
	SHA256 shader.Digest `json:"sha256"`

	offset int64 // in the spool of an export
}

// The form of a manifest is that of json.MarshalIndent with an indent of one space: the
// head, filesStart, the files, the end. There is no other form of the same manifest.
const (
	filesStart    = "\n \"files\": ["
	firstFile     = "\n  "
	nextFile      = ",\n  "
	pathField     = "{\n   \"path\": \""
	kindField     = "\",\n   \"kind\": \""
	sizeField     = "\",\n   \"size\": "
	sumField      = ",\n   \"sha256\": \""
	fileEnd       = "\n  }"
	manifestEnd   = "\n ]\n}\n"
	noFiles       = "]\n}\n"
	maxHeadBytes  = 256 << 10 // enough for some hundred fingerprints
	maxEntryBytes = 4 << 10   // of one file
)

// encode sorts the manifest and returns its bytes. It encodes one file at a time:
// encoding 100,000 files as one value would take several times their memory.
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

// encodeHead sorts the fingerprints and returns the bytes before the files.
func (m *Manifest) encodeHead() ([]byte, error) {
	slices.SortFunc(m.Fingerprints, func(a, b Fingerprint) int { return cmp.Compare(a.Dir, b.Dir) })
	empty := *m
	empty.Files = []File{}
	data, err := json.MarshalIndent(empty, "", " ")
	return bytes.TrimSuffix(data, []byte(filesStart+strings.TrimSuffix(noFiles, "\n"))), err
}

// encode returns the bytes of a file in a manifest: those of json.MarshalIndent, for names
// of characters that JSON does not escape.
func (f File) encode() ([]byte, error) {
	if !plainText(f.Path) || !plainText(string(f.Kind)) {
		return json.MarshalIndent(f, firstFile[1:], " ")
	}
	line := make([]byte, 0, manifestLine)
	line = append(append(line, pathField...), f.Path...)
	line = append(append(line, kindField...), f.Kind...)
	line = strconv.AppendInt(append(line, sizeField...), f.Size, 10)
	line = hex.AppendEncode(append(line, sumField...), f.SHA256[:])
	return append(line, "\""+fileEnd...), nil
}

// plainText reports whether a text has only characters that names of files have.
func plainText(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("/._-", rune(c)) {
			return false
		}
	}
	return true
}

// decodeManifest decodes the bytes of encode and refuses all others: another order, an
// unknown field, a path that Export does not write. It decodes and checks one file at a
// time, so that a faulty manifest takes no more memory than its valid files.
func decodeManifest(data []byte) (*Manifest, error) {
	m, files, err := decodeHead(data)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, f := range m.Fingerprints {
		if f.Digest != f.Fingerprint.Digest() || f.Dir != f.Fingerprint.DirName() || known[f.Dir] {
			return nil, refused(manifestName, "fingerprint %q does not match its digest, or is there twice", f.Dir)
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
		if err := f.validate(); err != nil {
			return nil, err
		}
		if f.Path <= before {
			return nil, refused(f.Path, "it is there twice, or out of order")
		}
		if f.ofDriver() && !known[f.topFolder()] {
			return nil, refused(f.Path, "its fingerprint is not in the manifest")
		}
		m.Files = append(m.Files, f)
		separator, end, before = nextFile, manifestEnd, f.Path
	}
	return m, m.checkPairs()
}

// decodeHead decodes the bytes before the files. It also returns the bytes from the
// first file on.
func decodeHead(data []byte) (m *Manifest, files []byte, err error) {
	var about struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &about); err != nil {
		return nil, nil, refused(manifestName, "%v", err)
	}
	if about.Schema > manifestSchema {
		reason := fmt.Sprintf("schema %d, and this program reads up to schema %d", about.Schema, manifestSchema)
		return nil, nil, &RefusedError{Path: manifestName, Reason: reason, kind: ErrNewer}
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

// decodeFile decodes the first of the files. It also returns the bytes of the others.
func decodeFile(files []byte, separator string) (f File, rest []byte, err error) {
	files, found := bytes.CutPrefix(files, []byte(separator))
	end := bytes.Index(files[:min(len(files), maxEntryBytes)], []byte(fileEnd))
	if !found || end < 0 {
		return f, nil, notCanonical()
	}
	line, rest := files[:end+len(fileEnd)], files[end+len(fileEnd):]
	if f, found = parseFile(line); !found {
		if err := json.Unmarshal(line, &f); err != nil {
			return f, nil, refused(manifestName, "%v", err)
		}
	}
	if again, err := f.encode(); err != nil || !bytes.Equal(again, line) {
		return f, nil, notCanonical()
	}
	return f, rest, nil
}

// parseFile returns the file of a line with plain texts, without JSON: a start waits for
// thousands of lines. decodeFile compares what encode makes of it.
func parseFile(line []byte) (f File, ok bool) {
	var path, kind, size, sum []byte
	rest, ok := bytes.CutPrefix(line, []byte(pathField))
	for _, field := range []struct {
		value *[]byte
		end   string
	}{{&path, kindField}, {&kind, sizeField}, {&size, sumField}, {&sum, "\"" + fileEnd}} {
		if !ok {
			return f, false
		}
		*field.value, rest, ok = bytes.Cut(rest, []byte(field.end))
	}
	n, err := strconv.ParseInt(string(size), 10, 64)
	if !ok || len(rest) > 0 || err != nil || !plainText(string(path)) || !plainText(string(kind)) || f.SHA256.UnmarshalText(sum) != nil {
		return File{}, false
	}
	f.Path, f.Kind, f.Size = string(path), Kind(kind), n
	return f, true
}

// notCanonical returns the error for a manifest in another form than that of encode.
func notCanonical() error {
	return refused(manifestName, "it is not in the form that Export writes")
}

// checkPairs checks that the manifest has both files of each NVIDIA slot, and no file in the
// place of a folder: those of Mesa have one to three.
func (m *Manifest) checkPairs() error {
	checked := mesaFolder // the folder of the file before
	for i, f := range m.Files {
		if f.Kind == NVIDIA && !m.paired(i) {
			return refused(f.Path, "the other file of its slot is missing")
		}
		if f.Kind != Mesa {
			continue
		}
		folder := f.Path[:strings.LastIndexByte(f.Path, '/')]
		for dir := folder; dir != checked && dir != mesaFolder; dir = path.Dir(dir) {
			if _, isFile := slices.BinarySearchFunc(m.Files, dir, func(f File, dir string) int { return cmp.Compare(f.Path, dir) }); isFile {
				return refused(f.Path, "another file has the place of its folder")
			}
		}
		checked = folder
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
