package binary

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Key says which program: equal keys, equal generated code on one driver.
type Key [sha256.Size]byte

func (k Key) String() string { return hex.EncodeToString(k[:]) }

// Short is the first twelve hexadecimal digits, for people.
func (k Key) Short() string { return hex.EncodeToString(k[:6]) }

// MarshalText writes the key in hexadecimal.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (k *Key) UnmarshalText(text []byte) error { return (*Digest)(k).UnmarshalText(text) }

// ParseKey reads the 64 hexadecimal digits that Key.String writes.
func ParseKey(s string) (Key, error) {
	var k Key
	err := k.UnmarshalText([]byte(s))
	return k, err
}

// Key inputs, in this order, each preceded by its length:
//
//	field   value                                       why
//	schema  keySchema                                   a new rule here must not meet old blobs
//	stage   "compute"                                   the same text in another stage is another program
//	text    the final GLSL, #version and defines first  the code itself
//
// The caller's name is a label and not part of the key: an edited shader under
// the same name is a different program.
const (
	keySchema    = 1
	stageCompute = "compute"
)

// defaultVersion is put before a source that has no #version line.
const defaultVersion = "#version 450 core"

// Source is one compute program as the driver will see it, with its identity.
// It is immutable and may be shared by goroutines. Build it once and keep it:
// building hashes the text, using it does not.
type Source struct {
	name  string
	text  string
	files []string
	key   Key
}

// Defines are preprocessor definitions: name to value. A name may carry a
// parameter list, as in "SCALE(x)". The value may be empty.
type Defines map[string]string

var (
	versionLine = regexp.MustCompile(`^[ \t]*#[ \t]*version[ \t]+[^\n]*`)
	defineName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\([A-Za-z0-9_, ]*\))?$`)
)

// NewSource builds a compute source from GLSL text. The text's own #version
// line, or "#version 450 core" where it has none, goes first, then the defines
// sorted by name, then the rest; a #line directive keeps the driver's line
// numbers those of text. It fails for a define that is not one line of the form
// that GLSL accepts, and for text with a NUL byte.
func NewSource(name, text string, defines Defines) (*Source, error) {
	return newSource(name, text, defines, []string{name})
}

// MustSource is NewSource for text known at build time. It panics on an error.
func MustSource(name, text string, defines Defines) *Source {
	s, err := NewSource(name, text, defines)
	if err != nil {
		panic(err)
	}
	return s
}

func newSource(name, text string, defines Defines, files []string) (*Source, error) {
	if strings.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("binary: source %q holds a NUL byte: is it a text file?", name)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	version, body, line := splitVersion(text)
	var b strings.Builder
	b.Grow(len(text) + 64*len(defines) + 64)
	b.WriteString(version)
	b.WriteByte('\n')
	for _, d := range slices.Sorted(maps.Keys(defines)) {
		v := defines[d]
		if !defineName.MatchString(d) {
			return nil, fmt.Errorf("binary: source %q: %q is not a name that can be defined", name, d)
		}
		if strings.ContainsAny(v, "\n\r\x00\\") {
			return nil, fmt.Errorf("binary: source %q: the value of %s must be one line without backslashes", name, d)
		}
		fmt.Fprintf(&b, "#define %s %s\n", d, v)
	}
	fmt.Fprintf(&b, "#line %d 0\n", line)
	b.WriteString(body)
	s := &Source{name: name, text: b.String(), files: files}
	h := fields{sha256.New()}
	h.number(keySchema)
	h.text(stageCompute)
	h.text(s.text)
	s.key = Key(h.Sum(nil))
	return s, nil
}

// splitVersion takes the #version line out of text. Comments and blank lines
// may stand before it and stay in the body. line is the number, in text, of the
// body's first line.
func splitVersion(text string) (version, body string, line int) {
	rest, n := text, 1
	inComment := false
	for rest != "" {
		cur, after, _ := strings.Cut(rest, "\n")
		if !inComment {
			if v := versionLine.FindString(cur); v != "" {
				if n == 1 {
					return strings.TrimSpace(v), after, 2
				}
				// What stood before it is comment: keep the line count.
				before := text[:len(text)-len(rest)]
				return strings.TrimSpace(v), before + "\n" + after, 1
			}
		}
		bare := stripComments(cur, &inComment)
		if strings.TrimSpace(bare) != "" {
			break
		}
		rest = after
		n++
	}
	return defaultVersion, text, 1
}

// stripComments removes // and /* */ comments from one line; inComment carries
// an open /* from line to line.
func stripComments(line string, inComment *bool) string {
	var out strings.Builder
	for line != "" {
		if *inComment {
			_, after, closed := strings.Cut(line, "*/")
			if !closed {
				return out.String()
			}
			*inComment, line = false, after
			continue
		}
		i := strings.Index(line, "/")
		if i < 0 || i+1 >= len(line) {
			return out.String() + line
		}
		switch line[i+1] {
		case '/':
			return out.String() + line[:i]
		case '*':
			out.WriteString(line[:i])
			*inComment, line = true, line[i+2:]
		default:
			out.WriteString(line[:i+1])
			line = line[i+1:]
		}
	}
	return out.String()
}

// Name is the caller's label.
func (s *Source) Name() string { return s.name }

// Key identifies the program.
func (s *Source) Key() Key { return s.key }

// Text is the GLSL that the driver compiles.
func (s *Source) Text() string { return s.text }

// Files names the files that the text came from, by the source string number
// that drivers print in their logs.
func (s *Source) Files() []string { return slices.Clone(s.files) }
