package binary

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// compiled.json holds the latest programs that starts compiled, by name, with two bytes
// of hash for each line of their texts. It shows which line makes a program new at each
// start, though no text is stored.
const (
	compiledName     = "compiled.json"
	maxCompiled      = 64
	maxCompiledLines = 4096
	maxLineText      = 160
)

var compiledKind = whole[[]compiledLine]{name: compiledName, limit: 4 << 20, unsynced: true, compact: true}

// Recompiled is a program that starts compiled, each from another text.
type Recompiled struct {
	Name   string    `json:"name"`
	Starts int       `json:"starts"`         // that compiled another text than the start before
	Line   int       `json:"line,omitempty"` // the first line that differed at the last of them, of Source.Text
	Text   string    `json:"text,omitempty"` // of that line, its begin
	First  time.Time `json:"first"`          // time of the first of Starts
	Last   time.Time `json:"last"`           // time of the last of Starts
}

type compiledLine struct {
	Recompiled
	Key   shader.Key `json:"key"`
	Lines []byte     `json:"lines"` // hashes
}

// Recompiled returns the latest names that starts compiled, with Starts of 1 for those
// that one start compiled.
func (d *Dir) Recompiled() []Recompiled {
	var list []Recompiled
	for _, c := range d.readCompiled() {
		list = append(list, c.Recompiled)
	}
	return list
}

// PutCompiled records the sources that a start compiled, of each name the first. The
// latest 64 names are kept. An upstream directory ignores it.
func (s *Store) PutCompiled(sources []*shader.Source) error {
	if s.dir.readOnly {
		return nil
	}
	all, now, changed := s.dir.readCompiled(), s.dir.now().UTC(), false
	for _, src := range sources {
		name := cutName(src.Name())
		if _, before := s.compiled.LoadOrStore(name, true); before {
			continue // a start may compile several programs of one name
		}
		changed = true
		i := slices.IndexFunc(all, func(c compiledLine) bool { return c.Name == name })
		if i < 0 {
			i, all = len(all), append(all, compiledLine{})
		}
		all[i] = all[i].next(name, src, now)
	}
	if !changed {
		return nil
	}
	slices.SortStableFunc(all, func(a, b compiledLine) int { return b.Last.Compare(a.Last) })
	return compiledKind.write(s.dir.path, all[:min(len(all), maxCompiled)])
}

// next returns the line of a name after another start compiled src.
func (c compiledLine) next(name string, src *shader.Source, now time.Time) compiledLine {
	n := compiledLine{Recompiled{Name: name, Starts: 1, First: now, Last: now}, src.Key(), lineHashes(src.Text())}
	if c.Name == "" || c.Key == n.Key {
		return n
	}
	n.First, n.Starts = c.First, c.Starts+1
	for i := 0; i+1 < max(len(c.Lines), len(n.Lines)); i += 2 {
		if i+2 > len(c.Lines) || i+2 > len(n.Lines) || !slices.Equal(c.Lines[i:i+2], n.Lines[i:i+2]) {
			n.Line = i/2 + 1
			n.Text = textLine(src.Text(), n.Line)
			break
		}
	}
	return n
}

// textLine returns a line of text, cut.
func textLine(text string, line int) string {
	for range line - 1 {
		_, text, _ = strings.Cut(text, "\n")
	}
	text, _, _ = strings.Cut(text, "\n")
	text = strings.TrimSpace(text)
	return strings.ToValidUTF8(text[:min(len(text), maxLineText)], "")
}

func lineHashes(text string) (hashes []byte) {
	for line := range strings.Lines(text) {
		if len(hashes) == 2*maxCompiledLines {
			break
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(line))
		sum := h.Sum32()
		hashes = binary.LittleEndian.AppendUint16(hashes, uint16(sum^sum>>16))
	}
	return hashes
}

func (d *Dir) readCompiled() []compiledLine {
	all, _ := compiledKind.read(d.path)
	slices.SortStableFunc(all, func(a, b compiledLine) int { return cmp.Compare(a.Name, b.Name) })
	return slices.CompactFunc(all, func(a, b compiledLine) bool { return a.Name == b.Name })
}
