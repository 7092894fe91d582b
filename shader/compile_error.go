package shader

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	contextLines = 2 // shown before and after a line that the log names
	shownLines   = 8 // lines of the log whose source is shown
)

// CompileError is returned when a driver refuses GLSL. It says what the driver
// said, in terms of the user's files.
type CompileError struct {
	Name   string  // of the source
	Log    string  // the driver's, whole
	Source *Source // may be nil; then no source lines are shown
}

// Error is one line: the program and the driver's first error.
func (e *CompileError) Error() string {
	line := firstError(e.Log)
	if line == "" {
		return fmt.Sprintf("shader %q does not compile, and the driver does not say why", e.Name)
	}
	if at, message, ok := parseLogLine(line); ok {
		line = e.fileName(at.file) + ":" + strconv.Itoa(at.line) + ": " + message
	}
	return fmt.Sprintf("shader %q does not compile: %s", e.Name, line)
}

// Detail is the driver's log, followed by the source around each line that it
// names, with the line numbers of the user's files. It ends in a line end.
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

// fileName is the file of a source string number.
func (e *CompileError) fileName(number int) string {
	if e.Source != nil && number < len(e.Source.files) {
		return e.Source.files[number]
	}
	return fmt.Sprintf("source %d", number)
}

// position is a line of one source string.
type position struct{ file, line int }

// logPosition is how a driver's log line starts:
//
//	0:12(5): error: ...        Mesa: string, line, column
//	0(12) : error C0000: ...   NVIDIA: string, line
//	ERROR: 0:12: ...           the reference compiler, and drivers made from it
var logPosition = regexp.MustCompile(`^(?:(?:ERROR|WARNING): )?(\d+)(?::(\d+)(?:\(\d+\))?|\((\d+)\)) ?: ?(.*)$`)

func parseLogLine(line string) (at position, message string, ok bool) {
	m := logPosition.FindStringSubmatch(strings.TrimSpace(line))
	if m == nil {
		return position{}, "", false
	}
	file, err1 := strconv.Atoi(m[1])
	number, err2 := strconv.Atoi(m[2] + m[3])
	return position{file, number}, m[4], err1 == nil && err2 == nil
}

// firstError is the first line of a log that speaks of an error, else its first
// line that says anything.
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

// namedLines collects the first lines that a log names, by source string.
func namedLines(log string) map[int][]int {
	named := map[int][]int{}
	count := 0
	for line := range strings.Lines(log) {
		at, _, ok := parseLogLine(line)
		if !ok || slices.Contains(named[at.file], at.line) {
			continue
		}
		named[at.file] = append(named[at.file], at.line)
		if count++; count == shownLines {
			break
		}
	}
	return named
}

// sourceLines is the text of every source string by line number, as #line
// directives tell it. What the host put in front is not the user's.
func sourceLines(text string) map[int]map[int]string {
	files := map[int]map[int]string{}
	at := position{-1, 0}
	s := glslScanner{rest: text}
	for s.next() {
		if line, file, ok := parseLineDirective(s.code); ok {
			if file >= 0 {
				at.file = file
			}
			at.line = line
			continue
		}
		if files[at.file] == nil {
			files[at.file] = map[int]string{}
		}
		for physical := range strings.Lines(s.raw) {
			files[at.file][at.line] = strings.TrimRight(physical, "\n")
			at.line++
		}
	}
	delete(files, -1)
	return files
}

var lineDirective = regexp.MustCompile(`^\s*#\s*line\s+(\d+)(?:\s+(\d+))?\s*$`)

// parseLineDirective reads a #line directive; file is -1 where it names none.
func parseLineDirective(code string) (line, file int, ok bool) {
	m := lineDirective.FindStringSubmatch(code)
	if m == nil {
		return 0, 0, false
	}
	line, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, 0, false
	}
	file = -1
	if m[2] != "" {
		if file, err = strconv.Atoi(m[2]); err != nil {
			return 0, 0, false
		}
	}
	return line, file, true
}

// excerpt shows the named lines, each marked and with its neighbours. Gaps are
// marked with dots.
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
