//go:build linux

package resident

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

var update = flag.Bool("update", false, "write what is made from the table of the control blocks")

const docFile = "../docs/resident.md"

// TestControlIsCurrent compares what is made from the table in control.go with
// the files, or writes them.
func TestControlIsCurrent(t *testing.T) {
	words, err := controlGo()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, "control_words.go", words)
	compare(t, "kernels/resident_control.glsl", controlGLSL())
	doc, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	text := string(doc)
	for _, b := range controlBlocks {
		begin, end := "<!-- "+b.name+" -->\n", "<!-- end -->"
		before, rest, found := strings.Cut(text, begin)
		_, after, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no place for the table of %s", docFile, b.name)
		}
		text = before + begin + b.controlTable() + end + after
	}
	compare(t, docFile, text)
}

func compare(t *testing.T, file, want string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what control.go makes: run this test with -update", file)
	}
}

// TestLinesHaveOneWriter asserts what the layout promises: lines start at
// multiples of 64 bytes, no two fields overlap, and each line names its writer.
func TestLinesHaveOneWriter(t *testing.T) {
	for _, b := range controlBlocks {
		writers := map[int]string{}
		next := 0
		b.eachWord(func(l line, f field, at int) {
			if at < next {
				t.Errorf("%s: %s overlaps the field before it", b.name, f.name)
			}
			if f.words == 4 && at%4 != 0 {
				t.Errorf("%s: uvec4 %s is not aligned", b.name, f.name)
			}
			next = at + f.words
			if w, ok := writers[at/lineWords]; ok && w != l.writer || l.writer == "" {
				t.Errorf("%s: line of %s has two writers", b.name, f.name)
			}
			writers[at/lineWords] = l.writer
		})
	}
}

// TestTheDriverHasTheSameLayout asks the driver where the fields of the control
// blocks lie, and compares with the constants that the host uses.
func TestTheDriverHasTheSameLayout(t *testing.T) {
	f := newFixture(t)
	s := f.session(echoKernel(), quick)
	places := map[string]int{}
	err := s.context.Do(func(gl *glctx.GL) error {
		list, err := gl.Variables(s.program.Program())
		for _, v := range list {
			places[strings.TrimSuffix(v.Name, "[0]")] = v.Offset
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	wantAt := func(name string, words int) {
		if at, ok := places[name]; ok {
			compared++
			if at != 4*words {
				t.Errorf("%s is at byte %d, not %d", name, at, 4*words)
			}
		}
	}
	for _, b := range controlBlocks {
		b.eachWord(func(_ line, f field, at int) { wantAt("resident"+f.name, at) })
	}
	for name, at := range map[string]int{"Inbox": inboxAt, "Outbox": outboxAt, "Address": addressAt, "Aside": asideAt,
		"LogRing": wordsResidentWork, "Groups": groupsOffset / 4} {
		wantAt("resident"+name, at)
	}
	if compared < 30 {
		t.Errorf("the driver lists %d fields", compared)
	}
}

// TestTheHeartbeatGoesOn looks at what a kernel shows of itself, from tick to tick.
func TestTheHeartbeatGoesOn(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range Strategies() {
		o := quick
		o.Strategy = strategy
		s := f.session(chainKernel(), o)
		if n := s.Heartbeat(); n != 0 {
			t.Errorf("%v: %d beats before the first tick", strategy, n)
		}
		last := uint32(0)
		for range 4 {
			run(t, s, 25)
			if n := s.Heartbeat(); n <= last {
				t.Errorf("%v: the heartbeat went from %d to %d", strategy, last, n)
			} else {
				last = n
			}
		}
		if p, done := s.Progress(), s.words[wordDone]; p != 100 || done != 100 {
			t.Errorf("%v: progress is %d, and group 0 says %d", strategy, p, done)
		}
	}
}
