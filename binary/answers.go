package binary

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"iter"
	"os"
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// checked/<key> has the sum of the payload that gave the right answer, or, after wrongMark,
// the name and the reason of a program that the driver computes wrong.
var answers = perKey[string]{folder: checkedName, limit: maxWrongBytes,
	decode: func(_ shader.Key, data []byte) (string, error) { return string(data), nil }}

const (
	checkedName   = "checked"
	wrongMark     = "wrong\n"
	maxWrongBytes = 4 << 10
)

// PutChecked records that a blob, once loaded, gave the right answer. Another binary of the
// same program has another sum and is checked again.
func (s *Store) PutChecked(b *Blob) error { return s.putAnswer(b.Key, payloadSumLine(b)) }

// Checked reports whether PutChecked recorded this binary.
func (s *Store) Checked(b *Blob) bool {
	text, _, err := answers.read(s.path, b.Key)
	return err == nil && text == payloadSumLine(b)
}

// PutWrong records that a program gave a wrong answer right after it was compiled, in the
// place of PutChecked's record.
func (s *Store) PutWrong(key shader.Key, name, reason string) error {
	text := wrongMark + strings.ReplaceAll(cutName(name), "\n", " ") + "\n" + reason
	return s.putAnswer(key, text[:min(len(text), maxWrongBytes)])
}

func (s *Store) putAnswer(key shader.Key, text string) error {
	return wrap("record a check", s.writeInto(answers.path(s.path, key), []byte(text)))
}

// Wrong returns what PutWrong recorded for a program, and false where it recorded nothing.
func (s *Store) Wrong(key shader.Key) (reason string, wrong bool) {
	text, _, _ := answers.read(s.path, key)
	_, reason, wrong = cutWrong(text)
	return reason, wrong
}

func cutWrong(text string) (name, reason string, wrong bool) {
	text, wrong = strings.CutPrefix(text, wrongMark)
	if !wrong {
		return "", "", false
	}
	name, reason, _ = strings.Cut(text, "\n")
	return name, reason, true
}

// WrongPrograms yields the names and reasons that PutWrong recorded.
func (s *Store) WrongPrograms() iter.Seq2[string, string] {
	return func(yield func(name, reason string) bool) {
		for text := range answers.all(s.path) {
			if name, reason, wrong := cutWrong(text); wrong && !yield(name, reason) {
				return
			}
		}
	}
}

func payloadSumLine(b *Blob) string {
	return shader.Digest(sha256.Sum256(b.Payload)).String() + "\n"
}

// staleChecks lists the records of blobs that are gone. That of a program that is computed
// wrong has none and stays: without it the next start would compile it and not check it.
func (s *Store) staleChecks() (paths []string) {
	for key, e := range answers.files(s.path) {
		if _, err := os.Lstat(s.blobPath(key)); !e.Type().IsRegular() || !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, wrong := s.Wrong(key); !wrong {
			paths = append(paths, answers.path(s.path, key))
		}
	}
	return paths
}
