//go:build linux && cgo

package glctx_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/shader"
)

const faultDir = "GLCTX_TEST_FAULT_DIR"

// TestFaultChild gets and runs one program with the cache in faultDir.
func TestFaultChild(t *testing.T) {
	dir := os.Getenv(faultDir)
	if dir == "" {
		return
	}
	c, err := glctx.Open(glctx.Options{CacheDir: dir})
	wantNoError(t, err)
	defer c.Close()
	programs, err := cache.New(c, cache.Options{Dir: dir})
	wantNoError(t, err)
	h, err := programs.Get(context.Background(), shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"}))
	if err == nil {
		wantTimes(t, run(t, c, h.Program()), 2)
		fmt.Printf("outcome: %v", h.Origin())
		h.Release()
	} else {
		fmt.Printf("outcome: %v", err)
	}
	wantNoError(t, programs.Close())
	s := programs.Stats()
	fmt.Printf(", stored %d, store failures %d, out of memory %d\n", s.Stored, s.StoreFailures, s.OutOfMemory)
	fmt.Printf("driver: %s %s\n", c.Info().GPU, c.Info().Driver)
}

// faultChild runs TestFaultChild with the driver's faults.
func faultChild(t *testing.T, dir string, environment []string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestFaultChild$", "-test.v")
	cmd.Env = append(append(os.Environ(), faultDir+"="+dir), environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return string(out)
}

// A driver with too little memory for a binary, at every start, may have enough to
// compile.
func TestOutOfMemoryAtEachLoadIsCompiled(t *testing.T) {
	gltest.Open(t) // skips or fails without a driver
	t.Parallel()
	dir := t.TempDir()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.OutOfMemory, At: "glProgramBinary"})
	wantIn(t, faultChild(t, dir, environment), "outcome: compiled, stored 1,")
	for range 2 {
		wantIn(t, faultChild(t, dir, environment), "outcome: compiled,", "out of memory 2")
	}
	wantIn(t, faultChild(t, dir, nil), "outcome: disk,") // the binary is still there
}

// A compile that fails for lack of memory is none of a wrong source.
func TestOutOfMemoryIsNoCompileError(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	dir := t.TempDir()
	environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.OutOfMemory, At: "glCompileShader"})
	wantIn(t, faultChild(t, dir, environment), "out of memory 2")
	wantIn(t, faultChild(t, dir, nil), "outcome: compiled, stored 1,")
}

// A driver that raises an error for a binary and still reports that it is linked has refused
// it: the program is compiled.
func TestErrorsOfLoadsAreRefusals(t *testing.T) {
	gltest.Open(t)
	t.Parallel()
	dir := t.TempDir()
	wantIn(t, faultChild(t, dir, nil), "outcome: compiled, stored 1,")
	raised := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Raise, At: "glProgramBinary"})
	wantIn(t, faultChild(t, dir, raised), "outcome: compiled, stored 1,")
	wantIn(t, faultChild(t, dir, nil), "outcome: disk,")
}

// Lengths of a program binary that cannot be: the program works and is not stored.
func TestLengthsOfProgramBinariesAreChecked(t *testing.T) {
	gltest.Open(t)
	for _, c := range []struct{ at, length, want string }{
		{"glGetProgramiv", "-1", "outcome: compiled, stored 0, store failures 1"},
		{"glGetProgramiv", "2147483647", "outcome: compiled, stored 0, store failures 1"},
		{"glGetProgramiv", "0", "outcome: compiled, stored 0, store failures 0"},
		{"glGetProgramBinary", "-1", "outcome: compiled, stored 0, store failures 1"},
		{"glGetProgramBinary", "2147483647", "outcome: compiled, stored 0, store failures 1"},
	} {
		t.Run(c.at+" "+c.length, func(t *testing.T) {
			t.Parallel()
			environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Length, Argument: c.length, At: c.at})
			dir := t.TempDir()
			wantIn(t, faultChild(t, dir, environment), c.want)
			wantIn(t, faultChild(t, dir, nil), "outcome: compiled, stored 1,")
		})
	}
}

// The strings of a driver identify it, are written as JSON and are printed.
func TestStringsOfTheDriverArePrintable(t *testing.T) {
	gltest.Open(t)
	for argument, want := range map[string]string{"escape": `\x1b[31mred`, "bytes": `\xff\xfe`} {
		t.Run(argument, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			environment := faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Garbage, Argument: argument, At: "glGetString"})
			first := faultChild(t, dir, environment)
			wantIn(t, first, "outcome: compiled, stored 1,", want)
			if strings.Contains(first, "\x1b") || !utf8.ValidString(first) {
				t.Errorf("raw bytes of the driver were printed: %q", first)
			}
			wantIn(t, faultChild(t, dir, environment), "outcome: disk,")
			d, err := binary.OpenDir(dir)
			wantNoError(t, err)
			prints, err := d.Fingerprints()
			wantNoError(t, err)
			if len(prints) != 1 || !strings.Contains(prints[0].Fingerprint.Renderer, want) {
				t.Errorf("%+v", prints)
			}
		})
	}
}
