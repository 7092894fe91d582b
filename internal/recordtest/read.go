// Package recordtest reads recordings for the tests of the recorder, by docs/recording.md and
// nothing else: package recording, which the command uses, is not needed to check it.
package recordtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Stage is one shader of a program.
type Stage struct {
	Stage     uint32
	SPIRV     bool
	Entry     string   // of SPIR-V
	Constants []uint32 // of SPIR-V: indices and values in turn
	Text      string   // or the module
}

// Program is one file of a recording.
type Program struct {
	Context                         [5]uint32 // API, major, minor, profile, flags
	Separable, Created, Retrievable bool
	Stages                          []Stage
	Attributes, Outputs             []string // "name=number" and "name=number,index"
	Feedback                        string   // "mode name name"
}

// Line is one line of a process's log.
type Line struct {
	Kind   string
	Nanos  int64
	Fields []string
}

// Process is one log.
type Process struct {
	Executable string
	PID        int
	Lines      []Line // without the first
}

// Of returns the fields of the lines of a kind, joined by spaces.
func (p Process) Of(kind string) (fields []string) {
	for _, l := range p.Lines {
		if l.Kind == kind {
			fields = append(fields, strings.Join(l.Fields, " "))
		}
	}
	return fields
}

// Digests returns the first fields of the lines of a kind.
func (p Process) Digests(kind string) (digests []string) {
	for _, l := range p.Lines {
		if l.Kind == kind {
			digests = append(digests, l.Fields[0])
		}
	}
	return digests
}

// Recording is a folder.
type Recording struct {
	Programs  map[string]Program // by digest
	Processes []Process          // by time of their first line
}

// Read reads a whole recording. What docs/recording.md does not allow is an error.
func Read(dir string) (Recording, error) {
	r := Recording{Programs: map[string]Program{}}
	files, err := filepath.Glob(filepath.Join(dir, "v1", "programs", "*", "*"))
	if err != nil {
		return r, err
	}
	for _, file := range files {
		if err := r.addProgram(file); err != nil {
			return r, fmt.Errorf("%s: %w", file, err)
		}
	}
	logs, err := filepath.Glob(filepath.Join(dir, "v1", "processes", "*"))
	if err != nil {
		return r, err
	}
	for _, file := range logs {
		if err := r.addProcess(file); err != nil {
			return r, fmt.Errorf("%s: %w", file, err)
		}
	}
	return r, nil
}

func (r *Recording) addProgram(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	digest := hex.EncodeToString(sum[:])
	if want := filepath.Join(digest[:2], digest+".bin"); !strings.HasSuffix(file, want) {
		return errors.New("the content's digest is " + digest)
	}
	program, err := parseProgram(data)
	r.Programs[digest] = program
	return err
}

func parseProgram(data []byte) (p Program, err error) {
	data, ok := bytes.CutPrefix(data, []byte("SCPROG1\n"))
	if !ok {
		return p, errors.New("it does not begin with SCPROG1")
	}
	last := uint32(0)
	for len(data) > 0 {
		if len(data) < 8 {
			return p, errors.New("a field is cut")
		}
		tag, size := number(data), number(data[4:])
		if tag < last || tag == last && !slices.Contains([]uint32{4, 5, 6}, tag) || tag == 0 || tag > 8 {
			return p, fmt.Errorf("tag %d comes after %d", tag, last)
		}
		if int(size) > len(data)-8 {
			return p, errors.New("a field is cut")
		}
		if err := p.set(tag, data[8:8+size]); err != nil {
			return p, err
		}
		last, data = tag, data[8+size:]
	}
	if p.Context[0] == 0 || len(p.Stages) == 0 {
		err = errors.New("it has no context or no stage")
	}
	return p, err
}

func number(data []byte) uint32 { return binary.LittleEndian.Uint32(data) }

// set sets what a field has. It panics where the field is too short: the tests end then.
func (p *Program) set(tag uint32, field []byte) error {
	switch tag {
	case 1:
		for i := range p.Context {
			p.Context[i] = number(field[4*i:])
		}
		if len(field) != 20 {
			return fmt.Errorf("the context has %d bytes", len(field))
		}
	case 2, 3, 8:
		if len(field) != 4 || number(field) != 1 {
			return fmt.Errorf("tag %d is %x", tag, field)
		}
		*map[uint32]*bool{2: &p.Separable, 3: &p.Created, 8: &p.Retrievable}[tag] = true
	case 4:
		p.Stages = append(p.Stages, parseStage(field))
	case 5:
		p.Attributes = append(p.Attributes, fmt.Sprintf("%s=%d", field[4:], number(field)))
	case 6:
		p.Outputs = append(p.Outputs, fmt.Sprintf("%s=%d,%d", field[8:], number(field), number(field[4:])))
	case 7:
		p.Feedback = fmt.Sprintf("%#x %s", number(field), strings.ReplaceAll(strings.TrimSuffix(string(field[4:]), "\x00"), "\x00", " "))
	}
	return nil
}

func parseStage(field []byte) Stage {
	s := Stage{Stage: number(field), SPIRV: number(field[4:]) == 2}
	field = field[8:]
	if s.SPIRV {
		length := number(field)
		s.Entry, field = string(field[4:4+length]), field[4+length:]
		count := number(field)
		for field = field[4:]; count > 0; count-- {
			s.Constants = append(s.Constants, number(field), number(field[4:]))
			field = field[8:]
		}
	}
	s.Text = string(field)
	return s
}

// fieldCounts are the fields of each kind of line, after the time.
var fieldCounts = map[string]int{"context": 8, "link": 2, "failed": 1, "use": 1, "binary": 2, "lost": 1}

func (r *Recording) addProcess(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	if lines[len(lines)-1] != "" {
		return errors.New("the last line has no end")
	}
	first := strings.Split(lines[0], "\t")
	if len(first) != 5 || first[0] != "process" || first[1] != "0" || first[2] != "1" {
		return fmt.Errorf("the first line is %q", lines[0])
	}
	start, pid, _ := strings.Cut(strings.TrimSuffix(filepath.Base(file), ".log"), "-")
	if start != first[4] {
		return fmt.Errorf("the log begins at %s", first[4])
	}
	p := Process{Executable: first[3]}
	if p.PID, err = strconv.Atoi(pid); err != nil {
		return err
	}
	for _, text := range lines[1 : len(lines)-1] {
		fields := strings.Split(text, "\t")
		if len(fields) < 3 || len(fields)-2 != fieldCounts[fields[0]] {
			return fmt.Errorf("line %q", text)
		}
		nanos, err := strconv.ParseInt(fields[1], 10, 64)
		if err != nil {
			return err
		}
		p.Lines = append(p.Lines, Line{fields[0], nanos, fields[2:]})
	}
	for _, digest := range append(p.Digests("link"), p.Digests("use")...) {
		if _, stored := r.Programs[digest]; !stored {
			return fmt.Errorf("program %s is not stored", digest)
		}
	}
	r.Processes = append(r.Processes, p)
	return nil
}
