//go:build linux

package conv2d

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The text of a built-in program is its identity: a change here makes every
// stored binary of it a miss.
func TestBuiltinTexts(t *testing.T) {
	if want := []string{"conv2d_3x3", "conv2d_5x5", "gemm_small"}; !slices.Equal(BuiltinNames(), want) {
		t.Errorf("names are %v, want %v", BuiltinNames(), want)
	}
	for _, name := range BuiltinNames() {
		source, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if source.Name() != name {
			t.Errorf("%s is called %s", name, source.Name())
		}
		golden(t, name+".golden.comp", source.Text())
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the text differs from %s; if that is meant, run go test with -update", path)
	}
}

func TestBuiltinUnknown(t *testing.T) {
	_, err := Builtin("conv2d_4x4")
	if err == nil || !strings.Contains(err.Error(), "gemm_small") {
		t.Errorf("error %v does not say which programs there are", err)
	}
}

// The programs under a name are those of plans that make the same choice.
func TestBuiltinsAreProgramsOfPlans(t *testing.T) {
	on := guaranteed
	on.sharedBytes = 32 << 10
	direct := func(side int) (kernel.Sequence, error) {
		p := Problem{N: 2, C: 3, H: 9, W: 8, K: 4, R: side, S: side, Bias: true}
		return directSequence(p, DirectParams{Local: directLocal}, on)
	}
	for name, build := range map[string]func() (kernel.Sequence, error){
		"conv2d_3x3": func() (kernel.Sequence, error) { return direct(3) },
		"conv2d_5x5": func() (kernel.Sequence, error) { return direct(5) },
		"gemm_small": func() (kernel.Sequence, error) { return gemmTiledSequence(plain(5, 6, 7), tile32, on) },
	} {
		source, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if again, _ := Builtin(name); again != source {
			t.Errorf("%s is built more than once", name)
		}
		made, err := build()
		if err != nil || made.Steps[0].Source.Key() != source.Key() {
			t.Errorf("%s is not the program of a plan: %v", name, err)
		}
	}
}
