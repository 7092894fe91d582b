package shader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a source that is read from files. They are far above what shaders need,
// so that a mistake does not exhaust the memory.
const (
	maxSourceBytes  = 16 << 20 // all files together, each time that they are included
	maxIncludes     = 4096     // in one source
	maxIncludeDepth = 32
)

// ReadSource reads a compute source from a file and inserts the files that it
// includes. The name of the source is the name of the file without folder and
// extension: see Source.WithName for another name.
//
//	#include "neighbour.glsl"
//
// names a file relative to the including one, and never one outside fsys. Every
// #include outside a comment is replaced, also one in a branch of an #if that is
// not compiled, and a file may be included again. A file that includes itself,
// directly or not, is an error that names the chain. #line directives make the
// driver report lines of the files: its source string number is the index into
// Source.Files.
func ReadSource(fsys fs.FS, file string, defines Defines) (*Source, error) {
	r := &sourceReader{fsys: fsys}
	if err := r.read(path.Clean(file), nil); err != nil {
		return nil, fmt.Errorf("shader: read source: %w", err)
	}
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	return newSource(name, r.text.String(), defines, r.files)
}

// sourceReader assembles one source.
type sourceReader struct {
	fsys     fs.FS
	text     strings.Builder
	files    []string // in order of first appearance
	includes int
}

// read adds a file and the files that it includes. chain is the files that include
// it, outermost first.
func (r *sourceReader) read(file string, chain []string) error {
	if slices.Contains(chain, file) {
		return fmt.Errorf("#include cycle: %s", strings.Join(append(chain, file), " -> "))
	}
	if len(chain) > maxIncludeDepth {
		return fmt.Errorf("#include is nested deeper than %d files: %s", maxIncludeDepth, strings.Join(chain, " -> "))
	}
	text, err := r.load(file)
	if err != nil {
		return err
	}
	chain = append(slices.Clip(chain), file)
	number := r.number(file)
	s := newScanner(text, number)
	conditionals := conditionalLines{}
	for {
		opened := s.InComment()
		if !s.Next() {
			break
		}
		directive, operand := s.directive()
		if directive != "include" {
			r.text.WriteString(s.raw())
			if conditionals.needsLine(directive) {
				r.lineDirective(s.last+1, number)
			}
			continue
		}
		if opened || s.InComment() {
			return fmt.Errorf("%s:%d: a comment over several lines must not touch an #include", file, s.first)
		}
		if err := r.include(operand, s.first, chain); err != nil {
			return err
		}
		conditionals.included()
		r.lineDirective(s.last+1, number)
	}
	return r.end(file, text, s.InComment())
}

// end ends a file: a comment or a line must not continue in the including file.
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

// includeTarget returns the file, inside the file system, that an operand names.
func includeTarget(from, operand string) (string, bool) {
	if len(operand) < 3 || operand[0] != '"' || operand[len(operand)-1] != '"' {
		return "", false
	}
	name := operand[1 : len(operand)-1]
	target := path.Join(path.Dir(from), name)
	return target, !path.IsAbs(name) && !strings.ContainsAny(name, "\"\\") && fs.ValidPath(target)
}

// load reads one file, within the remainder of maxSourceBytes.
func (r *sourceReader) load(file string) (string, error) {
	if !utf8.ValidString(file) { // the error of the file system would only be "invalid argument"
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

// number returns the source string number of a file.
func (r *sourceReader) number(file string) int {
	if i := slices.Index(r.files, file); i >= 0 {
		return i
	}
	r.files = append(r.files, file)
	return len(r.files) - 1
}

// lineDirective adds a #line directive for the line that follows.
func (r *sourceReader) lineDirective(line, number int) {
	fmt.Fprintf(&r.text, "#line %d %d\n", line, number)
}

// conditionalLines decides where a #line directive has to be repeated. A driver
// ignores directives in a branch that is not compiled, but counts the lines that
// were included there. So after an include, the line is set again after each #elif,
// #else and #endif until the outermost #if ends.
type conditionalLines struct {
	depth    int
	drifting bool
}

func (c *conditionalLines) included() { c.drifting = c.depth > 0 }

// needsLine tracks a directive and reports whether a #line has to follow it.
func (c *conditionalLines) needsLine(directive string) bool {
	switch directive {
	case "if", "ifdef", "ifndef":
		c.depth++
		return false
	case "endif":
		c.depth = max(c.depth-1, 0)
	case "elif", "else":
	default:
		return false
	}
	repeat := c.drifting
	c.drifting = c.drifting && c.depth > 0
	return repeat
}
