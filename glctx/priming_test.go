//go:build linux && cgo

package glctx_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

const (
	primeDir      = "GLCTX_TEST_PRIME_DIR"
	primeDispatch = "GLCTX_TEST_PRIME_DISPATCH" // set: the process dispatches
)

// slowToGenerate is a program whose machine code takes a driver much longer than one
// dispatch of it.
func slowToGenerate() *shader.Source { return shader.MustSource("slow to generate", slowText(), nil) }

func slowText() string {
	return `layout(local_size_x = 8) in;
layout(std430, binding = 0) buffer Values { float value[]; };
void main() {
	float x = value[gl_GlobalInvocationID.x];
` + strings.Repeat("	x = sin(x) * exp(-x * x) + pow(abs(x), 0.3) + atan(x, 2.0);\n", 60) + `	value[gl_GlobalInvocationID.x] = x;
}
`
}

// primeOutcome is what a process of TestPrimeChild measured.
type primeOutcome struct {
	Origin   string
	Prime    time.Duration // of the preload
	Dispatch time.Duration // the first one, until its result is there
}

// TestPrimeChild preloads a program and then, where it is asked to, dispatches it.
func TestPrimeChild(t *testing.T) {
	dir := os.Getenv(primeDir)
	if dir == "" {
		return
	}
	c, err := glctx.Open(glctx.Options{CacheDir: dir})
	wantNoError(t, err)
	programs, err := cache.New(c, cache.Options{Dir: dir})
	wantNoError(t, err)
	results, err := programs.Preload(t.Context(), []*shader.Source{slowToGenerate()}, nil)
	wantNoError(t, err)
	wantNoError(t, results[0].Err)
	o := primeOutcome{Origin: results[0].Origin.String(), Prime: time.Duration(results[0].PrimeNanos)}
	if os.Getenv(primeDispatch) != "" {
		h, err := programs.Get(t.Context(), slowToGenerate())
		wantNoError(t, err)
		wantNoError(t, c.Do(func(gl *glctx.GL) error {
			b, err := gl.NewBuffer(32, make([]byte, 32))
			if err != nil {
				return err
			}
			defer gl.DeleteBuffer(b)
			began := time.Now()
			gl.UseProgram(h.Program())
			gl.BindStorage(0, b)
			gl.Dispatch(1, 1, 1)
			gl.Finish()
			o.Dispatch = time.Since(began)
			return gl.Err()
		}))
		h.Release()
	}
	wantNoError(t, programs.Close())
	wantNoError(t, c.Close())
	data, err := json.Marshal(o)
	wantNoError(t, err)
	os.Stdout.WriteString("outcome: " + string(data) + "\n")
}

func primeChild(t *testing.T, dir string, environment ...string) (o primeOutcome) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPrimeChild$", "-test.v")
	cmd.Env = append(append(os.Environ(), primeDir+"="+dir), environment...)
	out, err := cmd.CombinedOutput()
	_, line, found := strings.Cut(string(out), "outcome: ")
	if err != nil || !found {
		t.Fatalf("%v\n%s", err, out)
	}
	line, _, _ = strings.Cut(line, "\n")
	wantNoError(t, json.Unmarshal([]byte(line), &o))
	return o
}

// A preload runs no invocation, and yet the machine code is in the driver's own cache
// after it: the first process that dispatches adds nothing, and does not wait for the
// code to be generated. Only for software drivers is that wait far longer than a dispatch.
func TestPreloadGeneratesTheMachineCode(t *testing.T) {
	software := gltest.Open(t).Info().Software()
	dir := t.TempDir()
	preloaded := primeChild(t, dir)
	files := driverFiles(t, dir)
	if preloaded.Origin != "compiled" || len(files) == 0 {
		t.Fatalf("the preload: %+v, files of the driver %q", preloaded, files)
	}
	var first time.Duration
	for range 2 { // the machine may be busy in one of them
		started := primeChild(t, dir, primeDispatch+"=1")
		if started.Origin != "disk" {
			t.Errorf("the second process: %+v", started)
		}
		if first == 0 || started.Dispatch < first {
			first = started.Dispatch
		}
	}
	if after := driverFiles(t, dir); !slices.Equal(after, files) {
		t.Errorf("a dispatch after the preload had machine code generated: files %q, before %q", after, files)
	}
	t.Logf("machine code %v, first dispatch of a later process %v", preloaded.Prime, first)
	if software && preloaded.Prime < 5*first {
		t.Errorf("the machine code took %v in the preload, and the first dispatch of a later process %v", preloaded.Prime, first)
	}
}

// driverFiles returns the files of the driver's own cache in a cache directory, with
// their sizes where files grow.
func driverFiles(t *testing.T, dir string) (files []string) {
	t.Helper()
	root := os.DirFS(filepath.Join(dir, "driver"))
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "index" || d.Name() == "marker" {
			return err
		}
		info, err := d.Info()
		if err == nil && strings.HasPrefix(name, "nvidia") {
			name += " " + strconv.FormatInt(info.Size(), 10)
		}
		files = append(files, name)
		return err
	})
	wantNoError(t, err)
	return files
}
