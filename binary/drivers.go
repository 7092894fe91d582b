package binary

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

const (
	fingerprintName     = "fingerprint.json"
	maxFingerprintBytes = 1 << 20
)

var fingerprints = whole[fingerprintFile]{name: fingerprintName, limit: maxFingerprintBytes}

// fingerprintFile is fingerprint.json: the whole fingerprint, of which the directory's
// name has a label and eight digits.
type fingerprintFile struct {
	Schema      int           `json:"schema"`
	Digest      shader.Digest `json:"digest"`
	Fingerprint Fingerprint   `json:"fingerprint"`
}

func (f fingerprintFile) isValid() bool {
	return f.Schema == fingerprintSchema && f.Fingerprint.Digest() == f.Digest
}

// FingerprintInfo describes one driver's part of a cache directory.
type FingerprintInfo struct {
	Label       string        `json:"label"`
	Digest      shader.Digest `json:"digest"`
	Dir         string        `json:"folder"` // name below the cache directory
	Programs    int           `json:"programs"`
	BlobBytes   int64         `json:"blob_bytes"` // on disk
	RawBytes    int64         `json:"raw_bytes"`  // of the program binaries
	Fingerprint Fingerprint   `json:"-"`          // zero where fingerprint.json is lost
}

// fingerprintDir matches the results of Fingerprint.DirName.
var fingerprintDir = regexp.MustCompile(`^(.+)-([0-9a-f]{8})$`)

// Fingerprints describes every driver that has programs here, sorted by directory name.
// It opens every blob for its header, and does not count blobs that cannot be read.
func (d *Dir) Fingerprints() ([]FingerprintInfo, error) { return d.fingerprints(true) }

// Drivers returns what Fingerprints returns, with 0 for Programs, BlobBytes and RawBytes.
// Its cost does not depend on the number of programs.
func (d *Dir) Drivers() ([]FingerprintInfo, error) { return d.fingerprints(false) }

func (d *Dir) fingerprints(count bool) ([]FingerprintInfo, error) {
	stores, err := d.stores()
	if err != nil {
		return nil, err
	}
	infos := make([]FingerprintInfo, 0, len(stores))
	for _, s := range stores {
		infos = append(infos, s.describe(count))
	}
	return infos, nil
}

func (s *Store) describe(count bool) FingerprintInfo {
	info := FingerprintInfo{
		Label:       fingerprintDir.FindStringSubmatch(s.name)[1],
		Digest:      s.digest,
		Dir:         s.name,
		Fingerprint: s.fingerprint,
	}
	if !count {
		return info
	}
	for key := range s.blobFiles() {
		if h, fileBytes, err := s.readHeader(key); err == nil {
			info.Programs++
			info.BlobBytes += fileBytes
			info.RawBytes += int64(h.rawBytes)
		}
	}
	return info
}

// stores opens the store of every fingerprint in the directory, sorted by name. A store
// is a directory whose name has the form of a fingerprint's and that identify accepts.
// Other directories may belong to other programs.
func (d *Dir) stores() ([]*Store, error) {
	stores, err := d.folders()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, wrap("list cache directory", err)
	}
	return slices.DeleteFunc(stores, func(s *Store) bool { return !s.identify() }), nil
}

// folders lists the directories whose names have the form of a fingerprint's, sorted by name.
func (d *Dir) folders() (list []*Store, err error) {
	entries, err := os.ReadDir(d.path)
	for _, e := range entries {
		if e.IsDir() && fingerprintDir.MatchString(e.Name()) {
			list = append(list, d.storeNamed(e.Name()))
		}
	}
	return list, err
}

// identify sets the store's fingerprint, or its digest alone, from what is in its
// directory. It reports whether anything there proves that the directory is a store:
//
//	fingerprint.json   valid
//	blobs              the header of one has a digest that fits the directory's name
//	manifest.json      its fingerprint fits the directory's name, and the blobs
//
// Where fingerprint.json is missing or damaged, the fingerprint is that of the manifest,
// of what is left of fingerprint.json, or of the upstream directory. A fingerprint fits
// if the digest of its fields does, so none is ever guessed.
func (s *Store) identify() bool {
	if s.readFingerprint() {
		return true
	}
	found := s.readDigest()
	for _, f := range s.fingerprintCopies() {
		if f.DirName() == s.name && (!found || f.Digest() == s.digest) {
			s.fingerprint, s.digest = f, f.Digest()
			return true
		}
	}
	return found
}

// readDigest sets the store's digest to that in the header of a blob. It reports whether
// there is a blob whose digest fits the directory's name.
func (s *Store) readDigest() bool {
	for key := range s.blobFiles() {
		if h, _, err := s.readHeader(key); err == nil && strings.HasSuffix(s.name, "-"+h.Fingerprint.Short()) {
			s.digest = h.Fingerprint
			return true
		}
	}
	return false
}

// fingerprintCopies returns the fingerprints in other files, and the legible part of a
// damaged fingerprint.json.
func (s *Store) fingerprintCopies() []Fingerprint {
	var file fingerprintFile
	if data, _, err := readRegular(s.file(fingerprintName), maxFingerprintBytes); err == nil {
		_ = json.Unmarshal(data, &file)
	}
	copies := []Fingerprint{s.manifestFingerprint(), file.Fingerprint}
	if up := s.dir.upstream; up != nil {
		if other := up.storeNamed(s.name); other.readFingerprint() {
			copies = append(copies, other.fingerprint)
		}
	}
	return copies
}

// isIdentified reports whether the store's fingerprint is known, and not only its digest.
func (s *Store) isIdentified() bool { return s.fingerprint.Digest() == s.digest }

// unproven lists the directories with the form of a store and without a proof of their
// driver: their programs cannot be used.
func (d *Dir) unproven() (paths []string) {
	folders, _ := d.folders()
	for _, s := range folders {
		_, err := os.Lstat(s.file(fingerprintName))
		looks := err == nil
		for range s.blobFiles() {
			looks = true
			break
		}
		if looks && !s.identify() {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// readFingerprint sets the store's fingerprint from fingerprint.json. It reports whether
// the file exists and is valid.
func (s *Store) readFingerprint() bool {
	file, err := fingerprints.read(s.path)
	if err != nil || !file.isValid() || file.Fingerprint.DirName() != s.name {
		return false
	}
	s.fingerprint, s.digest = file.Fingerprint, file.Digest
	return true
}

// writeFingerprint writes fingerprint.json where it is missing or damaged.
func (s *Store) writeFingerprint(kind whole[fingerprintFile]) error {
	if s.dir.storeNamed(s.name).readFingerprint() {
		return nil
	}
	return kind.write(s.path, fingerprintFile{fingerprintSchema, s.digest, s.fingerprint})
}

// Identify makes the directory of the store, and writes fingerprint.json where it is
// missing or damaged, before blobs are moved there. It syncs nothing: after a power cut the
// next Put or Record writes the file again.
func (s *Store) Identify() error {
	if s.dir.readOnly {
		return ErrReadOnly
	}
	err := os.MkdirAll(s.path, 0o700)
	if err == nil {
		kind := fingerprints
		kind.unsynced = true
		err = s.writeFingerprint(kind)
	}
	return wrap("identify", err)
}

// EachStore calls visit with the store of each driver in the directory, in the order
// of their names, and closes the store afterwards. A driver whose fingerprint.json is
// lost, and whose fingerprint is in no other file, has no store: unknown, which may be
// nil, gets its folder's name.
func (d *Dir) EachStore(visit func(name string, store *Store) error, unknown func(name string)) error {
	infos, err := d.Drivers()
	if err != nil {
		return err
	}
	for _, info := range infos {
		if info.Fingerprint.DirName() != info.Dir {
			if unknown != nil {
				unknown(info.Dir)
			}
			continue
		}
		store, err := d.Store(info.Fingerprint)
		if err != nil {
			return err
		}
		if err := errors.Join(visit(info.Dir, store), store.Close()); err != nil {
			return err
		}
	}
	return nil
}
