package binary

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

const checkedName = "checked"

// PutChecked records that a blob, once loaded, gave the right answer: it writes the sum
// of the payload to checked/<key>. Another binary of the same program has another sum
// and is checked again.
func (s *Store) PutChecked(b *Blob) error {
	if err := s.writeInto(s.checkedPath(b.Key), payloadSumLine(b)); err != nil {
		return fmt.Errorf("binary: record a check: %w", err)
	}
	return nil
}

// Checked reports whether PutChecked recorded this binary.
func (s *Store) Checked(b *Blob) bool {
	data, _, err := readRegular(s.checkedPath(b.Key), 2*sha256.Size+1)
	return err == nil && string(data) == string(payloadSumLine(b))
}

// wrongMark begins the record of a program that the driver computes wrong, in the place of
// a sum. The name follows in a line, and the reason in the rest.
const (
	wrongMark     = "wrong\n"
	maxWrongBytes = 4 << 10
)

// WrongProgram is a program that gives a wrong answer right after it was compiled.
type WrongProgram struct {
	Key    shader.Key
	Name   string
	Reason string
}

// PutWrong records that a program gave a wrong answer right after it was compiled, in the
// place of PutChecked's record.
func (s *Store) PutWrong(key shader.Key, name, reason string) error {
	text := wrongMark + strings.ReplaceAll(cutName(name), "\n", " ") + "\n" + reason
	if err := s.writeInto(s.checkedPath(key), []byte(text[:min(len(text), maxWrongBytes)])); err != nil {
		return fmt.Errorf("binary: record a check: %w", err)
	}
	return nil
}

// Wrong returns what PutWrong recorded for a program, and false where it recorded nothing.
func (s *Store) Wrong(key shader.Key) (reason string, wrong bool) {
	w, wrong := s.readWrong(key)
	return w.Reason, wrong
}

func (s *Store) readWrong(key shader.Key) (WrongProgram, bool) {
	data, _, err := readRegular(s.checkedPath(key), maxWrongBytes)
	text, wrong := strings.CutPrefix(string(data), wrongMark)
	if err != nil || !wrong {
		return WrongProgram{}, false
	}
	name, reason, _ := strings.Cut(text, "\n")
	return WrongProgram{key, name, reason}, true
}

// WrongPrograms lists the programs that PutWrong recorded.
func (s *Store) WrongPrograms() (list []WrongProgram) {
	for _, e := range osfile.List(filepath.Join(s.path, checkedName)) {
		key, err := shader.ParseKey(e.Name())
		if err != nil {
			continue
		}
		if w, wrong := s.readWrong(key); wrong {
			list = append(list, w)
		}
	}
	return list
}

func payloadSumLine(b *Blob) []byte {
	return []byte(shader.Digest(sha256.Sum256(b.Payload)).String() + "\n")
}

func (s *Store) checkedPath(key shader.Key) string {
	return filepath.Join(s.path, checkedName, key.String())
}

// staleChecks lists the records of blobs that are gone.
func (s *Store) staleChecks() (paths []string) {
	for _, e := range osfile.List(filepath.Join(s.path, checkedName)) {
		key, err := shader.ParseKey(e.Name())
		if err != nil || !e.Type().IsRegular() {
			continue
		}
		if _, err := os.Lstat(s.blobPath(key)); errors.Is(err, fs.ErrNotExist) {
			paths = append(paths, s.checkedPath(key))
		}
	}
	return paths
}
