package shader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of a source that is read from files. They are far beyond real shaders
// and stop a mistake from filling the memory.
const (
	maxSourceBytes  = 16 << 20 // all files together, each as often as included
	maxIncludes     = 4096     // in one source
	maxIncludeDepth = 32
)

var (
	includeDirective     = regexp.MustCompile(`^\s*#\s*include\b\s*(.*?)\s*$`)
	conditionalDirective = regexp.MustCompile(`^\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b`)
)

// ReadSource reads a compute source from a file and puts the files that it
// includes into it. The source is named after the file, without folder and
// extension: see Source.WithName for another name.
//
//	#include "neighbour.glsl"
//
// names a file relative to the one it stands in, and never one outside fsys.
// It is taken wherever it stands outside a comment, also where an #if leaves it
// out, each time anew. A file that includes itself, directly or not, is an
// error that names the chain. #line directives let the driver name lines of the
// files: its source string number is the index into Source.Files.
func ReadSource(fsys fs.FS, file string, defines Defines) (*Source, error) {
	r := &sourceReader{fsys: fsys}
	if err := r.read(path.Clean(file), nil); err != nil {
		return nil, fmt.Errorf("shader: read source: %w", err)
	}
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	return newSource(name, r.text.String(), defines, r.files)
}

// sourceReader puts one source together.
type sourceReader struct {
	fsys     fs.FS
	text     strings.Builder
	files    []string // in order of first appearance
	includes int
}

// read adds a file and all that it includes. chain has the files that led
// here, outermost first.
func (r *sourceReader) read(file string, chain []string) error {
	if slices.Contains(chain, file) {
		return fmt.Errorf("#include goes in a circle: %s", strings.Join(append(chain, file), " -> "))
	}
	if len(chain) > maxIncludeDepth {
		return fmt.Errorf("#include goes deeper than %d files: %s", maxIncludeDepth, strings.Join(chain, " -> "))
	}
	text, err := r.load(file)
	if err != nil {
		return err
	}
	chain = append(slices.Clip(chain), file)
	number := r.number(file)
	s := glslScanner{rest: text}
	lines := conditionalLines{}
	for {
		opened := s.inComment
		if !s.next() {
			break
		}
		m := includeDirective.FindStringSubmatch(s.code)
		if m == nil {
			r.text.WriteString(s.raw)
			if lines.resume(s.code) {
				r.lineDirective(s.lastLine+1, number)
			}
			continue
		}
		if opened || s.inComment {
			return fmt.Errorf("%s:%d: a comment over several lines must not touch an #include", file, s.line)
		}
		if err := r.include(m[1], s.line, chain); err != nil {
			return err
		}
		lines.included()
		r.lineDirective(s.lastLine+1, number)
	}
	return r.end(file, text, s.inComment)
}

// end closes a file, so that the next line is not taken for a part of it.
func (r *sourceReader) end(file, text string, inComment bool) error {
	if inComment {
		return fmt.Errorf("%s: a comment that starts with /* has no end", file)
	}
	if strings.HasSuffix(strings.TrimSuffix(text, "\n"), "\\") {
		return fmt.Errorf("%s: the last line ends in a backslash", file)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		r.text.WriteByte('\n')
	}
	return nil
}

// include adds the file that an #include directive names.
func (r *sourceReader) include(operand string, line int, chain []string) error {
	from := chain[len(chain)-1]
	target, ok := includeTarget(from, operand)
	if !ok {
		return fmt.Errorf("%s:%d: #include %s: write a relative path in double quotes that stays inside the source folder", from, line, operand)
	}
	if r.includes++; r.includes > maxIncludes {
		return fmt.Errorf("%s:%d: more than %d includes", from, line, maxIncludes)
	}
	r.lineDirective(1, r.number(target))
	if err := r.read(target, chain); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s:%d: %w", from, line, err)
		}
		return err
	}
	return nil
}

// includeTarget is the file, inside the file system, that an operand names.
func includeTarget(from, operand string) (string, bool) {
	if len(operand) < 3 || operand[0] != '"' || operand[len(operand)-1] != '"' {
		return "", false
	}
	name := operand[1 : len(operand)-1]
	target := path.Join(path.Dir(from), name)
	return target, !path.IsAbs(name) && !strings.ContainsAny(name, "\"\\") && fs.ValidPath(target)
}

// load reads one file, within what is left of the bound on all of them.
func (r *sourceReader) load(file string) (string, error) {
	if !utf8.ValidString(file) { // of which a file system says "invalid argument" only
		return "", fmt.Errorf("%q is not UTF-8, as names have to be: rename it", file)
	}
	f, err := r.fsys.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	left := maxSourceBytes - r.text.Len()
	data, err := io.ReadAll(io.LimitReader(f, int64(left)+1))
	if err != nil {
		return "", err
	}
	if len(data) > left {
		return "", fmt.Errorf("%s: sources are larger than %d bytes", file, maxSourceBytes)
	}
	return normalize(string(data)), nil
}

// number is the source string number of a file.
func (r *sourceReader) number(file string) int {
	if i := slices.Index(r.files, file); i >= 0 {
		return i
	}
	r.files = append(r.files, file)
	return len(r.files) - 1
}

// lineDirective says which line of which file follows.
func (r *sourceReader) lineDirective(line, number int) {
	fmt.Fprintf(&r.text, "#line %d %d\n", line, number)
}

// conditionalLines decides where a #line directive has to be repeated. A driver
// skips the ones inside an #if that does not hold, and counts on through the
// text that was included there; so after an include, the count is set right
// behind each #elif, #else and #endif until the outermost #if is closed.
type conditionalLines struct {
	depth    int
	drifting bool
}

func (c *conditionalLines) included() { c.drifting = c.depth > 0 }

// resume takes in a line of code and reports whether a #line has to follow.
func (c *conditionalLines) resume(code string) bool {
	m := conditionalDirective.FindStringSubmatch(code)
	if m == nil {
		return false
	}
	switch m[1] {
	case "if", "ifdef", "ifndef":
		c.depth++
		return false
	case "endif":
		c.depth = max(c.depth-1, 0)
	}
	repeat := c.drifting
	c.drifting = c.drifting && c.depth > 0
	return repeat
}
