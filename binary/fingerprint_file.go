package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const (
	fingerprintName     = "fingerprint.json"
	maxFingerprintBytes = 1 << 20
)

// fingerprintFile is fingerprint.json: the whole fingerprint, of which the directory's
// name has a label and eight digits.
type fingerprintFile struct {
	Schema      int           `json:"schema"`
	Digest      shader.Digest `json:"digest"`
	Fingerprint Fingerprint   `json:"fingerprint"`
}

// FingerprintInfo describes one driver's part of a cache directory.
type FingerprintInfo struct {
	Label       string
	Digest      shader.Digest
	Dir         string // name below the cache directory
	Programs    int
	BlobBytes   int64       // on disk
	RawBytes    int64       // of the program binaries
	Fingerprint Fingerprint // zero where fingerprint.json is lost
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
// is a directory whose name has the form of a fingerprint's, with a fingerprint.json or a
// blob that fits the name. Other directories may belong to other programs.
func (d *Dir) stores() ([]*Store, error) {
	list, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("binary: list cache directory: %w", err)
	}
	var stores []*Store
	for _, e := range list {
		if !e.IsDir() || !fingerprintDir.MatchString(e.Name()) {
			continue
		}
		if s := d.storeNamed(e.Name()); s.readFingerprint() || s.readDigest() {
			stores = append(stores, s)
		}
	}
	return stores, nil
}

// readDigest sets the store's digest to that in the header of a blob, where
// fingerprint.json does not give it. It reports whether there is a blob whose digest fits
// the directory's name.
func (s *Store) readDigest() bool {
	for key := range s.blobFiles() {
		if h, _, err := s.readHeader(key); err == nil && strings.HasSuffix(s.name, "-"+h.fingerprint.Short()) {
			s.digest = h.fingerprint
			return true
		}
	}
	return false
}

// isIdentified reports whether the store's fingerprint is known, and not only its digest.
func (s *Store) isIdentified() bool { return s.fingerprint.Digest() == s.digest }

// readFingerprint sets the store's fingerprint from fingerprint.json. It reports whether
// the file exists and is valid.
func (s *Store) readFingerprint() bool {
	data, _, err := readRegular(filepath.Join(s.path, fingerprintName), maxFingerprintBytes)
	if err != nil {
		return false
	}
	var file fingerprintFile
	if json.Unmarshal(data, &file) != nil || file.Schema != fingerprintSchema ||
		file.Fingerprint.Digest() != file.Digest || file.Fingerprint.DirName() != s.name {
		return false
	}
	s.fingerprint, s.digest = file.Fingerprint, file.Digest
	return true
}

// writeFingerprint writes fingerprint.json where it is missing or damaged.
func (s *Store) writeFingerprint() error {
	if s.dir.storeNamed(s.name).readFingerprint() {
		return nil
	}
	data, err := json.MarshalIndent(fingerprintFile{fingerprintSchema, s.digest, s.fingerprint}, "", "  ")
	if err != nil {
		return err
	}
	return osfile.WriteFile(filepath.Join(s.path, fingerprintName), append(data, '\n'))
}
