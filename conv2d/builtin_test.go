package conv2d

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
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

func TestProblemSource(t *testing.T) {
	tests := map[string]Problem{
		"conv2d_3x3":    {R: 3, S: 3},
		"conv2d_5x5":    {R: 5, S: 5},
		"conv2d_direct": {R: 3, S: 5},
	}
	for want, p := range tests {
		if got := p.Source(); got.Name() != want || got != p.Source() {
			t.Errorf("%dx%d: program %s, want %s, always the same", p.R, p.S, got.Name(), want)
		}
	}
}

func TestStartup48(t *testing.T) {
	for _, shared := range []int{9 << 10, 32 << 10, 48 << 10} {
		variants, err := Startup48(shared)
		if err != nil {
			t.Fatal(err)
		}
		names, keys := map[string]bool{}, map[binary.Key]bool{}
		for _, v := range variants {
			source, err := v.Source()
			if err != nil {
				t.Fatal(err)
			}
			names[source.Name()], keys[source.Key()] = true, true
			if v.Tile.SharedBytes() > shared {
				t.Errorf("%s needs %d bytes of %d", v.Name(), v.Tile.SharedBytes(), shared)
			}
		}
		if len(variants) != 48 || len(names) != 48 || len(keys) != 48 {
			t.Errorf("%d bytes: %d programs, %d names, %d keys", shared, len(variants), len(names), len(keys))
		}
	}
	if _, err := Startup48(1 << 9); err == nil {
		t.Error("no error for half a kilobyte of shared memory")
	}
}

func TestStartupVariantsOfOtherLengths(t *testing.T) {
	for _, n := range []int{0, 1, 5, 100} {
		variants, err := StartupVariants(n, 32<<10)
		if err != nil {
			t.Fatal(err)
		}
		names := map[string]bool{}
		for _, v := range variants {
			names[v.Name()] = true
		}
		if len(variants) != n || len(names) != n {
			t.Errorf("asked for %d: %d programs, %d names", n, len(variants), len(names))
		}
	}
	if _, err := StartupVariants(-1, 32<<10); err == nil {
		t.Error("no error for -1 programs")
	}
}

func TestTileFit(t *testing.T) {
	fitted, err := Tile128.Fit(9 << 10)
	if err != nil || fitted.Depth != 8 || fitted.Size != 128 {
		t.Errorf("fitted to %+v, %v", fitted, err)
	}
	if same, err := Tile128.Fit(32 << 10); err != nil || same != Tile128 {
		t.Errorf("fitted to %+v, %v", same, err)
	}
}

func TestVariantValidate(t *testing.T) {
	bad := Variant{Tile: Tile{Size: 30, Depth: 4, LocalY: 8}, Activation: 7, Scale: floatNaN()}
	err := bad.Validate()
	for _, want := range []string{"30 is not a multiple", "Activation(7)", "scale NaN"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	large := Variant{Tile: Tile{Size: 128, Depth: 4, LocalY: 8}}
	if err := large.Validate(); err == nil || !strings.Contains(err.Error(), "more than 8 rows") {
		t.Errorf("16 rows an invocation: error %v", err)
	}
	if _, err := (Variant{}).Source(); err == nil {
		t.Error("no error for the zero variant")
	}
}

func floatNaN() float32 {
	var zero float32
	return zero / zero
}

func TestFloatLiteral(t *testing.T) {
	tests := map[float32]string{1: "1.0", -2: "-2.0", 0.5: "0.5", 1e-20: "1e-20", 1e30: "1e+30", 0.1: "0.1"}
	for v, want := range tests {
		if got := floatLiteral(v); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}
