package shader

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Limits of a source that is read from files. They are far above what shaders need,
// so that a mistake does not exhaust the memory.
const (
	maxSourceBytes  = 16 << 20 // all files together, each time that they are inserted
	maxIncludes     = 4096     // in one source
	maxIncludeDepth = 32
)

var errTooLarge = fmt.Errorf("sources are larger than %d bytes", maxSourceBytes)

// FileOptions say how [ReadFile] reads a source.
type FileOptions struct {
	Defines Defines
	Include []string // folders that #include searches, in order: -I of compilers
	Shipped fs.FS    // files that #include finds by name where there are no others; may be nil

	// Version replaces the #version line of the file, or adds one: "310 es". Prefix
	// is inserted after it. So a source that an application composes is read with
	// the text, and key, that NewSource gives for "#version 310 es\n" + Prefix + file.
	// A file name with " (with its prefix)" then counts these lines too.
	Version, Prefix string
}

// ReadSource reads a compute source from a file of fsys and inserts the files that it
// includes. The name of the source is the name of the file without folder and
// extension: see Source.WithName for another name.
//
//	#include "neighbour.glsl"
//
// names a file relative to the including one, or from the root of fsys where none is
// there and the name begins with a slash, and never one outside fsys. A file with
// #pragma once or an include guard is inserted where it was not before.
//
// Conditions of #if are left to the driver. So an #include in a branch is replaced
// too, and one that cannot be replaced becomes an #error, which a driver reports only
// where the branch is compiled. Elsewhere it is an error here. A file that includes
// itself without a guard is an error that names the chain.
//
// #line directives make the driver report lines of the files: its source string
// number is the index into Source.Files. The directive that enables #include for
// other compilers, #extension GL_GOOGLE_include_directive, is removed.
func ReadSource(fsys fs.FS, file string, defines Defines) (*Source, error) {
	return readSource(finder{fsys: fsys}, path.Clean(file), FileOptions{Defines: defines})
}

// ReadFile is ReadSource for a file of the operating system, by a path as a user types
// it. Includes may be anywhere on the disk:
//
//	#include "x.glsl"   beside the including file, then in o.Include
//	#include <x.glsl>   in o.Include
//
// Files are named as the path was typed. The text, and with it the key, depends
// neither on that nor on the working directory.
func ReadFile(file string, o FileOptions) (*Source, error) {
	f := finder{fsys: diskFS{}, shipped: o.Shipped}
	for _, dir := range o.Include {
		f.dirs = append(f.dirs, filepath.ToSlash(dir))
	}
	return readSource(f, filepath.ToSlash(file), o)
}

func readSource(f finder, file string, o FileOptions) (*Source, error) {
	r := &sourceReader{finder: f, inserted: map[*sourceFile][]*branch{}}
	r.conditions = conditions{defined: map[string]bool{}, removed: map[string]bool{}}
	for name := range o.Defines {
		r.defined[firstName.FindString(name)] = true
	}
	main, err := r.main(file, o)
	if err != nil {
		return nil, fmt.Errorf("shader: read source: %w", err)
	}
	if err := r.insert(main); err != nil {
		return nil, fmt.Errorf("shader: read source: %w", err)
	}
	text := main.raw
	if r.changed {
		text = r.text.String()
	}
	names := make([]string, len(r.files))
	for i, file := range r.files {
		names[i] = file.name
	}
	name := strings.TrimSuffix(path.Base(file), path.Ext(file))
	return newSource(name, text, o.Defines, names)
}

// sourceReader assembles one source.
type sourceReader struct {
	finder
	conditions
	text     strings.Builder
	changed  bool          // text is not the text of the first file
	chain    []*sourceFile // being inserted, outermost first
	includes int

	inserted map[*sourceFile][]*branch // the place of the first time
}

// main opens the file of the source.
func (r *sourceReader) main(file string, o FileOptions) (*sourceFile, error) {
	main, err := r.open(place{path: file})
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(o.Version, "\n\r\\") {
		return nil, fmt.Errorf("the version %q is not one line", o.Version)
	}
	if o.Version != "" || o.Prefix != "" {
		main.raw = compose(o.Version, o.Prefix, main.text)
		main.text, main.guard = normalize(main.raw), ""
		main.name += " (with its prefix)"
	}
	return main, nil
}

// compose puts a version and a prefix before a text.
func compose(version, prefix, text string) string {
	head, body, _ := splitVersion(text)
	if version != "" {
		head = "#version " + version
	}
	if head != "" {
		head += "\n"
	}
	if prefix != "" && !strings.HasSuffix(prefix, "\n") {
		prefix += "\n"
	}
	return head + prefix + body
}

// insert adds a file with the files that it includes.
func (r *sourceReader) insert(file *sourceFile) error {
	number := r.number(file)
	if first, again := r.inserted[file]; !again || len(first) > len(r.place()) {
		r.inserted[file] = r.place()
	}
	r.chain = append(r.chain, file)
	defer func() { r.chain = r.chain[:len(r.chain)-1] }()
	guards, depth := file.guard, len(r.branches)
	l := sourceLine{Scanner: newScanner(file.text, number), file: file, number: number}
	for l.next() {
		directive, operand := l.directive()
		if directive == "include" {
			if err := r.includeLine(&l, operand); err != nil {
				return err
			}
			continue
		}
		if r.isRemoved(directive, operand) {
			r.replace(&l, "")
			continue
		}
		r.text.WriteString(l.raw())
		r.track(directive, operand, guards)
		if strings.HasPrefix(directive, "if") {
			guards = ""
		}
		if l.conditions.needsLine(directive) {
			r.lineDirective(l.last+1, number)
		}
	}
	if len(r.chain) == 1 {
		return r.checkSize()
	}
	r.branches = r.branches[:min(depth, len(r.branches))]
	return r.end(&l)
}

// sourceLine is a line of a file that is being inserted.
type sourceLine struct {
	*Scanner
	file       *sourceFile
	number     int
	opened     bool // the line begins in a comment
	conditions conditionalLines
}

func (l *sourceLine) next() bool {
	l.opened = l.InComment()
	return l.Next()
}

// IncludeError is returned for an #include that cannot be carried out.
type IncludeError struct {
	File    string // that has the #include
	Line    int
	Operand string // with its quotes or brackets
	Err     error
}

func (e *IncludeError) Error() string {
	return fmt.Sprintf("%s:%d: #include %s: %v", e.File, e.Line, e.Operand, e.Err)
}

func (e *IncludeError) Unwrap() error { return e.Err }

var includeExtension = regexp.MustCompile(`^GL_GOOGLE_include_directive\s*:`)

// isRemoved reports whether a directive is carried out here, and no driver's.
func (r *sourceReader) isRemoved(directive, operand string) bool {
	return directive == "pragma" && operand == "once" && len(r.chain) > 1 ||
		directive == "extension" && includeExtension.MatchString(operand)
}

// end ends an included file: a comment, a condition or a line must not continue in
// the including file.
func (r *sourceReader) end(l *sourceLine) error {
	switch {
	case l.InComment():
		return fmt.Errorf("%s: a comment that starts with /* has no end", l.file.name)
	case l.conditions.unbalanced:
		return fmt.Errorf("%s: an #else or #endif has no #if in the file", l.file.name)
	case l.conditions.depth > 0:
		return fmt.Errorf("%s: an #if has no #endif", l.file.name)
	}
	r.endContinuation()
	return r.checkSize()
}

// endContinuation removes the backslash that ends the last line, as compilers do.
func (r *sourceReader) endContinuation() {
	text := strings.TrimSuffix(r.text.String(), "\n")
	whole := strings.TrimRight(text, "\\")
	if whole == text {
		return
	}
	r.text = strings.Builder{}
	r.text.WriteString(whole)
	r.endLine()
}

func (r *sourceReader) checkSize() error {
	if r.text.Len() > maxSourceBytes {
		return fmt.Errorf("%s: %w", r.chain[0].name, errTooLarge)
	}
	return nil
}

// includeLine carries out an #include.
func (r *sourceReader) includeLine(l *sourceLine, operand string) error {
	if r.includes++; r.includes > maxIncludes {
		return &IncludeError{l.file.name, l.first, operand, fmt.Errorf("more than %d includes", maxIncludes)}
	}
	r.changed = true
	target, err := r.include(l.file, operand)
	if err == nil && r.isInserted(target) {
		r.replace(l, "")
		return nil
	}
	if err == nil {
		err = r.checkChain(target)
	}
	if err != nil && len(r.place()) > 0 {
		r.replace(l, "#error cannot include "+strings.ReplaceAll(operand, "\\", ""))
		return nil
	}
	if err != nil {
		return &IncludeError{l.file.name, l.first, operand, err}
	}
	if l.opened {
		r.text.WriteString("*/\n")
	}
	if err := r.insertGuarded(target); err != nil {
		return err
	}
	l.conditions.included()
	if l.InComment() {
		r.lineDirective(l.last, l.number)
		r.text.WriteString("/*\n")
		return nil
	}
	r.lineDirective(l.last+1, l.number)
	return nil
}

// isInserted reports whether a file was inserted before wherever this place is
// compiled, and inserting it again would add nothing.
func (r *sourceReader) isInserted(file *sourceFile) bool {
	if !file.once && (file.guard == "" || r.removed[file.guard]) {
		return false
	}
	first, ok := r.inserted[file]
	here := r.place()
	return ok && (slices.Contains(r.chain, file) || len(first) <= len(here) && slices.Equal(first, here[:len(first)]))
}

func (r *sourceReader) checkChain(file *sourceFile) error {
	var names []string
	for _, f := range r.chain {
		names = append(names, f.name)
	}
	switch {
	case slices.Contains(r.chain, file):
		return fmt.Errorf("#include cycle: %s", strings.Join(append(names, file.name), " -> "))
	case len(r.chain) > maxIncludeDepth:
		return fmt.Errorf("#include is nested deeper than %d files: %s", maxIncludeDepth, strings.Join(names, " -> "))
	}
	return nil
}

// insertGuarded inserts a file. Where conditions decide whether it is compiled,
// #pragma once becomes an include guard, and the driver decides for the next time.
func (r *sourceReader) insertGuarded(file *sourceFile) error {
	_, again := r.inserted[file]
	guarded := file.once && (again || len(r.place()) > 0)
	number := r.number(file)
	if guarded {
		r.endLine()
		fmt.Fprintf(&r.text, "#ifndef SHADERCACHE_ONCE_%d\n#define SHADERCACHE_ONCE_%[1]d\n", number)
	}
	r.lineDirective(1, number)
	if err := r.insert(file); err != nil {
		return err
	}
	if guarded {
		r.endLine()
		r.text.WriteString("#endif\n")
	}
	return nil
}

// number returns the source string number of a file.
func (r *sourceReader) number(file *sourceFile) int {
	if i := slices.Index(r.files, file); i >= 0 {
		return i
	}
	r.files = append(r.files, file)
	return len(r.files) - 1
}

// replace adds a line in the place of a directive, with as many line ends, and closes
// and opens the comments around it.
func (r *sourceReader) replace(l *sourceLine, directive string) {
	r.changed = true
	if l.opened {
		r.text.WriteString("*/ ")
	}
	r.text.WriteString(directive)
	r.text.WriteString(strings.Repeat("\n", l.last-l.first))
	if l.InComment() {
		r.text.WriteString(" /*")
	}
	r.text.WriteByte('\n')
}

// lineDirective adds a #line directive for the line that follows.
func (r *sourceReader) lineDirective(line, number int) {
	r.endLine()
	fmt.Fprintf(&r.text, "#line %d %d\n", line, number)
}

// endLine ends the last line: a file need not.
func (r *sourceReader) endLine() {
	if text := r.text.String(); text != "" && text[len(text)-1] != '\n' {
		r.text.WriteByte('\n')
	}
}
