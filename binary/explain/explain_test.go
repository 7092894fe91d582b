package explain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

var (
	explainedDriver = binary.Fingerprint{Vendor: "V", Renderer: "new", Version: "2", Formats: []uint32{1}, PointerBits: 64}
	formerDriver    = binary.Fingerprint{Vendor: "V", Renderer: "old", Version: "1", Formats: []uint32{1}, PointerBits: 64}
)

// explainedDir is a directory to fill.
type explainedDir struct {
	*testing.T
	*binary.Dir
}

func newExplainedDir(t *testing.T) explainedDir {
	t.Helper()
	dir, err := binary.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return explainedDir{t, dir}
}

func (d explainedDir) store(driver binary.Fingerprint) *binary.Store {
	d.Helper()
	s, err := d.Dir.Store(driver)
	if err != nil {
		d.Fatal(err)
	}
	return s
}

func (d explainedDir) put(driver binary.Fingerprint, src *shader.Source) {
	d.Helper()
	s := d.store(driver)
	defer s.Close()
	if err := s.Put(&binary.Blob{Key: src.Key(), Name: src.Name(), Fingerprint: driver.Digest(), Payload: []byte("x")}); err != nil {
		d.Fatal(err)
	}
}

func (d explainedDir) putText(src *shader.Source) {
	d.Helper()
	if err := d.PutSource(src); err != nil {
		d.Fatal(err)
	}
}

func (d explainedDir) explainer(behind ...*binary.Dir) *Explainer {
	d.Helper()
	dirs, dir := append([]*binary.Dir{d.Dir}, behind...), d.Dir
	for _, b := range behind {
		dir = dir.WithUpstream(b)
	}
	s, err := dir.Store(explainedDriver)
	if err != nil {
		d.Fatal(err)
	}
	x, err := New(s, dirs)
	if err != nil {
		d.Fatal(err)
	}
	return x
}

func TestExplainComparesDriversAndTexts(t *testing.T) {
	d := newExplainedDir(t)
	before := shader.MustSource("blur", "void main() {\n  a;\n}", nil)
	after := shader.MustSource("blur", "void main() {\n  b;\n}", nil)
	d.put(explainedDriver, before)
	d.put(formerDriver, after)
	d.putText(before)
	e := d.explainer().Explain(after.Key(), after)
	if e.Stored || e.Name != "blur" || len(e.Others) != 1 || len(e.Similar) != 1 {
		t.Fatalf("got %+v", e)
	}
	if diff := *e.Similar[0].Diff; diff.Ours != "  b;" || diff.Theirs != "  a;" || diff.Line != 4 {
		t.Errorf("difference %+v", diff)
	}
	var fields []string
	for _, f := range e.Others[0].Diffs {
		fields = append(fields, f.Field)
	}
	if strings.Join(fields, " ") != "renderer version" {
		t.Errorf("fields %q", fields)
	}
}

func TestExplainReadsTheUpstreamDirectory(t *testing.T) {
	d, baked := newExplainedDir(t), newExplainedDir(t)
	there := shader.MustSource("there", "void main() { b(); }", nil)
	older := shader.MustSource("there", "void main() { c(); }", nil)
	baked.put(formerDriver, older)
	baked.put(formerDriver, there)
	baked.put(explainedDriver, there)
	baked.putText(there)
	baked.putText(older)
	e := d.explainer(baked.Dir).Explain(older.Key(), nil)
	if e.Stored || e.Upstream || len(e.Others) != 1 || e.Others[0].Dir != formerDriver.DirName() ||
		len(e.Similar) != 1 || e.Similar[0].Diff == nil || e.Similar[0].Key != there.Key() {
		t.Errorf("other driver's: %+v", e)
	}
	if e := d.explainer(baked.Dir).Explain(shader.Key{9}, nil); e.Stored || e.Name != "" || len(e.Others)+len(e.Similar) != 0 {
		t.Errorf("unknown: %+v", e)
	}
}

func TestDiffDrivers(t *testing.T) {
	if d := diffDrivers(formerDriver, formerDriver); len(d) != 0 {
		t.Errorf("from itself: %v", d)
	}
	flags := formerDriver
	flags.Flags = 2
	if d := diffDrivers(formerDriver, flags); len(d) != 1 || d[0] != (FieldDiff{"flags", "0x0", "0x2"}) {
		t.Errorf("flags: %v", d)
	}
}

// Explaining n programs reads each name and each source about once: four times the
// programs are four times the work. Allocations count the work, since every read
// allocates.
func TestExplainerReadsOnce(t *testing.T) {
	work := func(programs int) float64 {
		d := newExplainedDir(t)
		var sources []*shader.Source
		for n := range programs {
			// Twenty programs of each name, as main.comp in twenty folders.
			source := shader.MustSource(fmt.Sprintf("main %d", n/20), fmt.Sprintf("void main() { %d; }", n), nil)
			d.put(explainedDriver, source)
			d.putText(source)
			sources = append(sources, source)
		}
		return testing.AllocsPerRun(1, func() {
			x := d.explainer()
			for _, source := range sources {
				if e := x.Explain(source.Key(), source); !e.Stored || len(e.Similar) != maxSimilar {
					t.Fatalf("%+v", e)
				}
			}
		})
	}
	few, many := work(40), work(160)
	t.Logf("%.0f allocations for 40 programs, %.0f for 160", few, many)
	if many > 6*few {
		t.Errorf("%.1f times the work for four times the programs", many/few)
	}
}
