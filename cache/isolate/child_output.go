package isolate

import (
	"bytes"
	"io"
	"regexp"
	"sync"
)

const (
	maxPrinted = 64 << 10 // bytes of a child that are passed on
	maxLine    = 4 << 10  // bytes of a line
)

// childOutput passes on what a child and its driver print, line by line, until the
// child's runtime reports a crash: that is for developers, and is kept for the log.
type childOutput struct {
	to   io.Writer
	seen *sync.Map // the lines of all children of a run: what each of them prints is passed on once

	mu struct {
		sync.Mutex
		line  []byte // not complete
		bytes int    // passed on
		trace []byte // of a crash, cut to maxPrinted
	}
}

// Write takes what the child prints.
func (o *childOutput) Write(data []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := data; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		o.mu.line = append(o.mu.line, line[:min(len(line), max(maxLine-len(o.mu.line), 0))]...)
		if rest = after; whole {
			o.endLine()
		}
	}
	return len(data), nil
}

// end passes on a last line that was not ended.
func (o *childOutput) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.mu.line) > 0 {
		o.endLine()
	}
}

func (o *childOutput) endLine() {
	line := append(o.mu.line, '\n')
	o.mu.line = nil
	switch {
	case len(o.mu.trace) > 0 || traceLine.Match(line):
		o.mu.trace = append(o.mu.trace, line[:min(len(line), maxPrinted-len(o.mu.trace))]...)
	case o.mu.bytes < maxPrinted:
		if _, again := o.seen.LoadOrStore(string(line), true); again {
			return
		}
		if o.mu.bytes += len(line); o.mu.bytes >= maxPrinted {
			line = append(line, "(what else this child prints is left out)\n"...)
		}
		_, _ = o.to.Write(line)
	}
}

// traceLine matches the first line that Go's runtime prints when it ends the process.
var traceLine = regexp.MustCompile(`^(SIG[A-Z]+: |fatal error: |panic: |runtime: |fatal: |unexpected fault address )`)

// crashLine matches the line with the signal that ended the process.
var crashLine = regexp.MustCompile(`(?m)^SIG[A-Z]+: .*$`)

// crash returns the signal that the child's runtime reported, or "", the first line of
// the report, and the whole.
func (o *childOutput) crash() (signal, first, whole string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	line, _, _ := bytes.Cut(o.mu.trace, []byte("\n"))
	return string(crashLine.Find(o.mu.trace)), string(line), string(o.mu.trace)
}
