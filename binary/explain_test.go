package binary

import (
	"fmt"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

// Explaining n programs reads each name and each source about once: four times the
// programs are four times the work. Allocations count the work, since every read
// allocates.
func TestExplainerReadsOnce(t *testing.T) {
	work := func(programs int) float64 {
		s := openTestStore(t, openTestDir(t), testFingerprint)
		var sources []*shader.Source
		for n := range programs {
			// Twenty programs of each name, as main.comp in twenty folders.
			name := fmt.Sprintf("main %d", n/20)
			source := shader.MustSource(name, fmt.Sprintf("void main() { %d; }", n), nil)
			blob := testBlob(n)
			blob.Key, blob.Name = source.Key(), name
			putBlobs(t, s, blob)
			must(t, s.dir.PutSource(source))
			sources = append(sources, source)
		}
		return testing.AllocsPerRun(1, func() {
			x := s.NewExplainer()
			for _, source := range sources {
				e, err := x.Explain(source.Key(), source)
				must(t, err)
				if !e.Stored || len(e.Similar) != maxSimilar {
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

func TestFailuresAreListed(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	source := shader.MustSource("bad", "void main() { a; }", nil)
	must(t, s.PutFailure(source, "0:1: no"))
	writeTestFile(t, failures.path(s.path, testKey(1)), []byte("{"), start)
	for key, name := range s.Failures() {
		if key != source.Key() || name != "bad" {
			t.Errorf("%s %q", key, name)
		}
	}
	if e, err := s.Explain(source.Key(), nil); err != nil || e.Failure != "0:1: no" || e.Name != "bad" {
		t.Errorf("%+v, %v", e, err)
	}
}
