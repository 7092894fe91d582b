package shader

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Key identifies a program: equal keys mean equal generated code on one driver.
type Key [sha256.Size]byte

// String returns the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Short returns the first twelve hexadecimal digits, for messages.
func (k Key) Short() string { return hex.EncodeToString(k[:6]) }

// MarshalText returns the key in hexadecimal.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText sets the key from 64 hexadecimal digits.
func (k *Key) UnmarshalText(text []byte) error { return (*Digest)(k).UnmarshalText(text) }

// ParseKey returns the key with the 64 hexadecimal digits of Key.String.
func ParseKey(s string) (Key, error) {
	var k Key
	err := k.UnmarshalText([]byte(s))
	return k, err
}

// Key inputs, in this order, each preceded by its length:
//
//	field   value                                       why
//	schema  keySchema                                   new rules must not match old blobs
//	stage   "compute"                                   the same text in another stage is another program
//	text    the final GLSL, as the driver gets it       the code itself
//
// The caller's name is a label and not part of the key: an edited shader under
// the same name is a different program.
const (
	keySchema    = 1
	stageCompute = "compute"
)

// defaultVersion is put before a source that has no #version line.
const defaultVersion = "#version 450 core"

// Source is the text of one compute program, as the driver compiles it, with its
// key. It is immutable and may be shared by goroutines. Build it once and keep it:
// only building hashes the text.
type Source struct {
	name  string
	text  string
	files []string
	key   Key
	check Check
}

// Check runs a program on known input and returns an error when the output is
// wrong.
type Check func(ctx context.Context, program uint32) error

// Defines are preprocessor definitions: name to value. A name may carry a
// parameter list, as in "SCALE(x)". The value may be empty.
type Defines map[string]string

var defineName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\([A-Za-z0-9_, ]*\))?$`)

// NewSource builds a compute source from GLSL text. Text that has a #version line of
// its own and no defines is used byte for byte, since drivers cache by the text.
// Otherwise the #version line, or "#version 450 core" where there is none, comes first,
// then the defines sorted by name, then the rest; a #line directive makes the driver
// report the line numbers of text, and lines that end in CR LF or CR end in LF. It fails
// for a define that is not one line of the form that GLSL accepts, and for text with a
// NUL byte. A byte order mark is dropped.
func NewSource(name, text string, defines Defines) (*Source, error) {
	return newSource(name, text, defines, []string{name})
}

// MustSource returns a source of text that is constant, like NewSource. It panics on
// an error.
func MustSource(name, text string, defines Defines) *Source {
	s, err := NewSource(name, text, defines)
	if err != nil {
		panic(err)
	}
	return s
}

func newSource(name, text string, defines Defines, files []string) (*Source, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("shader: source %q contains a NUL byte: is it a text file?", name)
	}
	version, body, leads := splitVersion(normalize(text))
	if leads && len(defines) == 0 && !oldLineEnd.MatchString(text) {
		return NewFinalSource(name, strings.TrimPrefix(text, byteOrderMark), files), nil
	}
	version = cmp.Or(version, defaultVersion)
	var b strings.Builder
	b.Grow(len(text) + 64*len(defines) + 64)
	b.WriteString(version)
	b.WriteByte('\n')
	for _, d := range slices.Sorted(maps.Keys(defines)) {
		if err := checkDefine(d, defines[d]); err != nil {
			return nil, fmt.Errorf("shader: source %q: %w", name, err)
		}
		fmt.Fprintf(&b, "#define %s %s\n", d, defines[d])
	}
	b.WriteString("#line 1 0\n")
	b.WriteString(body)
	return NewFinalSource(name, b.String(), files), nil
}

// NewFinalSource returns the source with a text that came from [Source.Text] and is
// used unchanged, such as one that was stored.
func NewFinalSource(name, text string, files []string) *Source {
	h := NewFieldHash()
	h.Number(keySchema)
	h.Text(stageCompute)
	h.Text(text)
	return &Source{name: name, text: text, files: files, key: Key(h.Digest())}
}

// checkDefine returns an error for what would not be one #define line, so that a
// driver's errors are always about lines that the user wrote.
func checkDefine(name, value string) error {
	switch {
	case !defineName.MatchString(name), name == "defined", strings.HasPrefix(name, "GL_"):
		return fmt.Errorf("%q is not a name that can be defined", name)
	case strings.ContainsAny(value, "\n\r\x00\\"):
		return fmt.Errorf("the value of %s must be one line without backslashes", name)
	case strings.Contains(value, "/*"), strings.Contains(value, "//"):
		return fmt.Errorf("the value of %s must not contain a comment", name)
	}
	return nil
}

const byteOrderMark = "\uFEFF"

// oldLineEnd matches a CR that no LF follows.
var oldLineEnd = regexp.MustCompile(`\r(?:[^\n]|$)`)

// normalize drops a byte order mark, which some editors write and no driver
// accepts, and ends every line in LF.
func normalize(text string) string {
	text = strings.TrimPrefix(text, byteOrderMark)
	if !strings.Contains(text, "\r") {
		return text
	}
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// splitVersion removes the #version directive, "" where there is none, from text.
// Everything else stays in the body, with its line numbers. Only comments, blank
// lines and the #line directives of includes may precede it. leads is set where none
// of the latter do, and the directive is one line.
func splitVersion(text string) (version, body string, leads bool) {
	leads = true
	s := newScanner(text, 0)
	for s.Next() {
		name, operand := s.directive()
		switch {
		case name == "version" && operand != "":
			return "#version " + operand, text[:s.begin] + s.rest + text[s.end:], leads && s.first == s.last
		case name == "line":
			leads = false
		case strings.TrimSpace(s.code) != "":
			return "", text, false
		}
	}
	return "", text, false
}

// Name returns the caller's label.
func (s *Source) Name() string { return s.name }

// Key returns the key of the program.
func (s *Source) Key() Key { return s.key }

// Text returns the GLSL that the driver compiles.
func (s *Source) Text() string { return s.text }

// Version returns what follows #version in the text, such as "450 core" or "310 es", and
// "" where it has none.
func (s *Source) Version() string {
	version, _, _ := splitVersion(normalize(s.text))
	return strings.TrimPrefix(version, "#version ")
}

// WithName returns the same program with another label.
func (s *Source) WithName(name string) *Source {
	named := *s
	named.name = name
	return &named
}

// WithCheck returns the same program with a known-answer check, since some drivers
// accept a program binary and then compute wrong results. A cache runs it once for
// each binary that it loads, before Get returns the program, and stores the result
// on disk. A program that was compiled is not checked. After an error of the check
// the binary is discarded and the source compiled; ErrContextLost, ErrOutOfMemory
// and the end of ctx are no results, and are returned to the caller of Get.
// ErrCheckLater leaves the check to Cache.CheckTogether. The check runs on a goroutine
// of the cache and must not call the cache. nil removes the check.
func (s *Source) WithCheck(check Check) *Source {
	checked := *s
	checked.check = check
	return &checked
}

// Check returns the check that WithCheck set, or nil.
func (s *Source) Check() Check { return s.check }

// Files returns the files that the text came from, by the source string number in
// the logs of drivers.
func (s *Source) Files() []string { return slices.Clone(s.files) }
