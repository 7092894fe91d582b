package shader

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	contextLines = 2 // shown before and after a line that the log names
	shownLines   = 8 // lines of the log whose source is shown
)

// CompileError is returned when a driver rejects GLSL. It shows the driver's log
// in terms of the user's files.
type CompileError struct {
	Name   string  // of the source
	Log    string  // the driver's, whole
	Source *Source // may be nil; then no source lines are shown
}

// For returns the error of a source with the same text, which may have another name and
// other files.
func (e *CompileError) For(s *Source) *CompileError {
	if s == nil || e.Name == s.name && (e.Source == nil || slices.Equal(e.Source.files, s.files)) {
		return e
	}
	return &CompileError{Name: s.name, Log: e.Log, Source: s}
}

// BlamesSource reports whether the log is a reason that lies in the source, so that the
// driver would refuse it again. It is not when the log is empty, is no text, or is of a
// driver without memory.
func (e *CompileError) BlamesSource() bool {
	isOdd := func(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) && !unicode.IsSpace(r) }
	return strings.TrimSpace(e.Log) != "" && !strings.ContainsFunc(e.Log, isOdd) &&
		!strings.Contains(strings.ToLower(e.Log), "out of memory")
}

// Error returns one line: the program and the first error of the log.
func (e *CompileError) Error() string {
	line := firstError(e.Log)
	if line == "" {
		return fmt.Sprintf("shader %q does not compile, and the driver gives no reason", e.Name)
	}
	if at, message, ok := parseLogLine(line); ok {
		line = e.fileName(at.File) + ":" + strconv.Itoa(at.Line) + ": " + message
	}
	return fmt.Sprintf("shader %q does not compile: %s", e.Name, line)
}

// Detail returns the driver's log, followed by the source around each line that the
// log names, with the line numbers of the user's files. It ends in a line end.
func (e *CompileError) Detail() string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(e.Log))
	b.WriteByte('\n')
	if e.Source == nil {
		return b.String()
	}
	named := namedLines(e.Log)
	text := sourceLines(e.Source.text)
	for _, file := range slices.Sorted(maps.Keys(named)) {
		excerpt := excerpt(text[file], named[file])
		if excerpt != "" {
			fmt.Fprintf(&b, "\n%s:\n%s", e.fileName(file), excerpt)
		}
	}
	return b.String()
}

// lineEnds escapes the line ends of a file name, which is part of a line.
var lineEnds = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// fileName returns the file with a source string number.
func (e *CompileError) fileName(number int) string {
	if e.Source != nil && number < len(e.Source.files) {
		return lineEnds.Replace(e.Source.files[number])
	}
	return fmt.Sprintf("source %d", number)
}

// logPosition matches the beginning of a line of a driver's log:
//
//	0:12(5): error: ...        Mesa: string, line, column
//	0(12) : error C0000: ...   NVIDIA: string, line
//	ERROR: 0:12: ...           the reference compiler, and drivers made from it
var logPosition = regexp.MustCompile(`^(?:(?:ERROR|WARNING): )?(\d+)(?::(\d+)(?:\(\d+\))?|\((\d+)\)) ?: ?(.*)$`)

func parseLogLine(line string) (at Position, message string, ok bool) {
	m := logPosition.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return Position{}, "", false
	}
	file, err1 := strconv.Atoi(m[1])
	number, err2 := strconv.Atoi(m[2] + m[3])
	return Position{File: file, Line: number}, m[4], err1 == nil && err2 == nil
}

// firstError returns the first line of a log that contains "error", else the first
// line that is not empty.
func firstError(log string) string {
	first := ""
	for line := range strings.Lines(log) {
		line = strings.TrimSpace(line)
		if strings.Contains(strings.ToLower(line), "error") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// namedLines returns the first lines that a log names, by source string.
func namedLines(log string) map[int][]int {
	named := map[int][]int{}
	count := 0
	for line := range strings.Lines(log) {
		at, _, ok := parseLogLine(line)
		if !ok || slices.Contains(named[at.File], at.Line) {
			continue
		}
		named[at.File] = append(named[at.File], at.Line)
		if count++; count == shownLines {
			break
		}
	}
	return named
}

// addedLines matches the lines that [NewSource] puts before the caller's text.
var addedLines = regexp.MustCompile(`^#version [^\n]*\n(?:#define [^\n]*\n)*#line 1 0\n`)

// sourceLines returns the text of every source string by line number, as #line
// directives set it, without the lines that NewSource put before the caller's text.
func sourceLines(text string) map[int]map[int]string {
	files := map[int]map[int]string{}
	text = normalize(text)
	first := 0
	if addedLines.MatchString(text) {
		first = noFile
	}
	s := newScanner(text, first)
	for s.Next() {
		if _, _, ok := s.lineDirective(); ok {
			continue
		}
		file, line := s.at.File, s.at.Line
		if files[file] == nil {
			files[file] = map[int]string{}
		}
		for physical := range strings.Lines(s.raw()) {
			files[file][line] = strings.TrimRight(physical, "\n")
			line++
		}
	}
	delete(files, noFile)
	return files
}

// noFile is the file of the lines that [NewSource] puts before the caller's text.
const noFile = -1

// excerpt returns the named lines, each marked, with their neighbours, and dots for
// gaps.
func excerpt(text map[int]string, named []int) string {
	var b strings.Builder
	last := 0
	for _, n := range slices.Sorted(maps.Keys(text)) {
		near := slices.ContainsFunc(named, func(m int) bool { return m-contextLines <= n && n <= m+contextLines })
		if !near {
			continue
		}
		if last != 0 && n != last+1 {
			b.WriteString("      ...\n")
		}
		mark := ' '
		if slices.Contains(named, n) {
			mark = '>'
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%c %4d | %s", mark, n, text[n]), " ") + "\n")
		last = n
	}
	return b.String()
}
