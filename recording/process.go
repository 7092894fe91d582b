package recording

import (
	"bytes"
	"strconv"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// Process is what one process did, in its order. Times are since its first line.
type Process struct {
	Name       string // of its log, without the extension
	Executable string
	Start      time.Time
	Contexts   []ContextUse
	Links      []Link
	Failed     []Event // links that the driver refused, as the application saw it
	Uses       []Event // first uses
	Binaries   []BinaryLoad
	Lost       []Lost

	// Unread is the number of lines that no recorder writes. A process that was killed
	// may leave one.
	Unread int
}

// ContextUse is the first use of a context like this.
type ContextUse struct {
	At       time.Duration
	Context  Context
	Vendor   string
	Renderer string
	Version  string
}

// Link is one link of a program.
type Link struct {
	Event
	Took time.Duration // the driver's call
}

// Event is something that happened to a program.
type Event struct {
	At      time.Duration
	Program shader.Digest
}

// BinaryLoad is a program that the application loaded from a program binary of its own.
type BinaryLoad struct {
	At     time.Duration
	Format uint32
	Bytes  int64
}

// Lost is something that could not be recorded.
type Lost struct {
	At     time.Duration
	Reason string
}

// maxLines is the number of lines of a log: what is kept of one takes more memory than it.
const maxLines = 1 << 20

// processVersion is the version of the log that this package reads.
const processVersion = 1

// decodeProcess returns the process of a log. It returns an error that matches ErrDamaged
// where the first line is not that of a log, or of a later version. Other lines that it
// cannot read are counted.
func decodeProcess(name string, log []byte) (*Process, error) {
	p := &Process{Name: name}
	first, rest, whole := bytes.Cut(log, []byte("\n"))
	if !whole {
		return nil, damaged("the log has no whole line")
	}
	if err := p.begin(fieldsOf(first)); err != nil {
		return nil, err
	}
	for n := 0; len(rest) > 0; n++ {
		if n == maxLines {
			return nil, damaged("the log has more than %d lines", maxLines)
		}
		var line []byte
		line, rest, whole = bytes.Cut(rest, []byte("\n"))
		if !whole || !p.add(fieldsOf(line)) {
			p.Unread++
		}
	}
	return p, nil
}

// fieldsOf splits a line. Of more fields than any line has, the last is the rest.
func fieldsOf(line []byte) []string { return strings.SplitN(string(line), "\t", maxLineFields+1) }

// begin reads the first line.
func (p *Process) begin(fields []string) error {
	if len(fields) != 5 || fields[0] != "process" {
		return damaged("the log does not begin with a line of the process")
	}
	if fields[2] != strconv.Itoa(processVersion) {
		return damaged("the log has version %.40q, and this program reads version %d", fields[2], processVersion)
	}
	start, err := strconv.ParseInt(fields[4], 10, 64)
	if err != nil {
		return damaged("the start of the process is %.40q", fields[4])
	}
	p.Executable, p.Start = fields[3], time.Unix(0, start)
	return nil
}

const maxLineFields = 10

// lineFields is the number of fields of each kind of line.
var lineFields = map[string]int{"context": 10, "link": 4, "failed": 3, "use": 3, "binary": 4, "lost": 3}

// add reads one line, and reports whether it is one.
func (p *Process) add(fields []string) bool {
	if lineFields[fields[0]] != len(fields) {
		return false
	}
	r := fieldReader{fields: fields[1:]}
	at := time.Duration(r.number(63))
	switch fields[0] {
	case "context":
		c := ContextUse{At: at, Context: Context{
			API(r.number(32)), uint32(r.number(32)), uint32(r.number(32)), uint32(r.number(32)), uint32(r.number(32)),
		}, Vendor: r.text(), Renderer: r.text(), Version: r.text()}
		if r.ok() && c.Context.check() == nil {
			p.Contexts = append(p.Contexts, c)
			return true
		}
		return false
	case "link":
		return keep(&r, &p.Links, Link{Event{at, r.digest()}, time.Duration(r.number(63))})
	case "failed":
		return keep(&r, &p.Failed, Event{at, r.digest()})
	case "use":
		return keep(&r, &p.Uses, Event{at, r.digest()})
	case "binary":
		return keep(&r, &p.Binaries, BinaryLoad{at, uint32(r.number(32)), int64(r.number(63))})
	default:
		return keep(&r, &p.Lost, Lost{at, r.text()})
	}
}

// keep appends what was read without an error.
func keep[T any](r *fieldReader, to *[]T, v T) bool {
	if !r.ok() {
		return false
	}
	*to = append(*to, v)
	return true
}

// fieldReader reads the fields of a line. It remembers whether one was bad.
type fieldReader struct {
	fields []string
	bad    bool
}

func (r *fieldReader) ok() bool { return !r.bad && len(r.fields) == 0 }

func (r *fieldReader) text() string {
	text := r.fields[0]
	r.fields = r.fields[1:]
	return text
}

func (r *fieldReader) number(bits int) uint64 {
	v, err := strconv.ParseUint(r.text(), 10, bits)
	r.bad = r.bad || err != nil
	return v
}

func (r *fieldReader) digest() (d shader.Digest) {
	r.bad = d.UnmarshalText([]byte(r.text())) != nil || r.bad
	return d
}
