//go:build linux

package conv2d

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx"
)

var (
	measureOut        = flag.String("measure", "", "file for the times of all candidates as JSON lines; without it TestMeasure is skipped")
	measureShapes     = flag.String("shapes", "", "regular expression: shapes to measure, such as '^1x64x56'")
	measureAlgorithms = flag.String("algorithms", "", "regular expression: algorithms to measure")
	measureParams     = flag.String("params", "", "parameters to change in every candidate, such as 'bk=32 slices=2'")
)

// measured is one candidate on one shape.
type measured struct {
	Shape     string  `json:"shape"`
	Algorithm string  `json:"algorithm"`
	Params    string  `json:"params"`
	Micros    float64 `json:"us"`
	TFLOPs    float64 `json:"tflops"`
	Estimate  float64 `json:"estimated_us,omitempty"` // of the product alone
	MaxError  float64 `json:"max_error"`
	Wrong     int     `json:"wrong"`
}

// TestMeasure checks and times every candidate on the shapes that the algorithms
// are made for. It is for real GPUs; a timing fails nothing.
func TestMeasure(t *testing.T) {
	if *measureOut == "" {
		t.Skip("-measure names no file")
	}
	file, err := os.Create(*measureOut)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := newRunner(t)
	to := json.NewEncoder(file)
	to.SetEscapeHTML(false)
	shapes, algorithms := regexp.MustCompile(*measureShapes), regexp.MustCompile(*measureAlgorithms)
	for _, p := range resnetProblems() {
		if shapes.MatchString(p.String()) {
			measureProblem(t, r, p, algorithms, to)
		}
	}
}

// measureProblem checks all candidates, then times them. In between the GPU is
// kept busy: one that waits for the CPU lowers its clock.
func measureProblem(t *testing.T, r *Runner, p Problem, algorithms *regexp.Regexp, to *json.Encoder) {
	in := tensorsOf{input: RandomValues(p.InputLen(), 1), weights: RandomValues(p.WeightsLen(), 2)}
	want := ReferenceConv2D(p, in.input, in.weights, nil)
	on := deviceOf(r.Context.Info())
	var runs []*measuredRun
	for _, a := range convAlgorithms {
		if !algorithms.MatchString(a.name) {
			continue
		}
		for _, params := range measuredParams(t, a, p, on) {
			run, err := newMeasuredRun(t, r, a, p, params, on)
			if err != nil {
				t.Errorf("%v: %s %v: %v", p, a.name, params, err)
				continue
			}
			runs = append(runs, run)
		}
	}
	if err := r.Context.Do(func(gl *glctx.GL) error { return timeRuns(gl, p, runs, in, want) }); err != nil {
		t.Fatal(err)
	}
	best := measured{}
	for _, run := range runs {
		if run.Wrong > 0 {
			t.Errorf("%v: %s %s: %d elements are wrong", p, run.Algorithm, run.Params, run.Wrong)
		} else if best.Micros == 0 || run.Micros < best.Micros {
			best = run.measured
		}
		if err := to.Encode(run.measured); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%v: best %.1f us, %.1f TFLOP/s: %s %s", p, best.Micros, best.TFLOPs, best.Algorithm, best.Params)
}

// measuredParams are the candidates, each once, with the changes of the flag.
func measuredParams(t *testing.T, a algorithm[Problem], p Problem, on device) []Params {
	var all []Params
	seen := map[string]bool{}
	for _, params := range onHardware(a, 0).candidates(p, on) {
		for _, change := range strings.Fields(*measureParams) {
			name, text, _ := strings.Cut(change, "=")
			v, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := params[name]; ok {
				params[name] = v
			}
		}
		if !seen[params.String()] {
			seen[params.String()] = true
			all = append(all, params)
		}
	}
	return all
}

// measuredRun is a candidate that is ready to run.
type measuredRun struct {
	measured
	recipe    recipe
	programs  map[*binary.Source]uint32
	tolerance float64
	took      time.Duration
}

func newMeasuredRun(t *testing.T, r *Runner, a algorithm[Problem], p Problem, params Params, on device) (*measuredRun, error) {
	recipe, err := a.recipe(p, params, on)
	if err != nil {
		return nil, err
	}
	run := &measuredRun{
		measured: measured{Shape: p.String(), Algorithm: a.name, Params: params.String(), Estimate: estimate(a.name, p, params)},
		recipe:   recipe, programs: map[*binary.Source]uint32{}, tolerance: a.tolerance(p),
	}
	for _, s := range append(recipe.prepare[:len(recipe.prepare):len(recipe.prepare)], recipe.steps...) {
		handle, err := r.Cache.Get(t.Context(), s.source)
		if err != nil {
			return nil, err
		}
		t.Cleanup(handle.Release)
		run.programs[s.source] = handle.Program()
	}
	return run, nil
}

// estimate is what the order of the candidates was made from, in microseconds at
// 1.98 GHz, 0 where there is none.
func estimate(name string, p Problem, params Params) float64 {
	tile, err := readImplicitTile(params)
	if err != nil {
		return 0
	}
	switch name {
	case "winograd2":
		p = winograd{p, 2}.product()
	case "winograd4":
		p = winograd{p, 4}.product()
	}
	return implicitProduct{p, tile}.cycles() / 1980
}

func timeRuns(gl *glctx.GL, p Problem, runs []*measuredRun, in tensorsOf, want Expected) error {
	packed, workspace := 1, 1
	for _, run := range runs {
		packed, workspace = max(packed, run.recipe.packed), max(workspace, run.recipe.workspace)
	}
	memory := tensors{gl: gl}
	defer memory.free()
	buffers := map[role]glctx.Buffer{
		inputRole: memory.upload(in.input), weightsRole: memory.upload(in.weights),
		packedRole: memory.poisoned(packed), workspaceRole: memory.poisoned(workspace),
	}
	for _, run := range runs {
		buffers[outputRole] = memory.poisoned(p.OutputLen())
		if memory.err != nil {
			return memory.err
		}
		run.dispatch(gl, run.recipe.prepare, buffers)
		run.dispatch(gl, run.recipe.steps, buffers)
		values, err := memory.download(buffers[outputRole], p.OutputLen())
		if err != nil {
			return err
		}
		report := Compare(values, want, run.tolerance)
		run.MaxError, run.Wrong = report.MaxError, report.Wrong
		gl.DeleteBuffer(buffers[outputRole])
		memory.made = memory.made[:len(memory.made)-1]
	}
	buffers[outputRole] = memory.poisoned(p.OutputLen())
	if memory.err != nil {
		return memory.err
	}
	for start := time.Now(); len(runs) > 0 && time.Since(start) < 500*time.Millisecond; {
		runs[0].time(gl, buffers, 5)
	}
	for range 4 {
		for _, run := range runs {
			run.time(gl, buffers, run.times())
		}
	}
	for _, run := range runs {
		run.Micros, run.TFLOPs = float64(run.took.Nanoseconds())/1e3, float64(p.FLOPs())/float64(run.took.Nanoseconds())/1e3
	}
	return nil
}

// times is how often a run fills five milliseconds, once its time is known.
func (run *measuredRun) times() int {
	if run.took == 0 {
		return 3
	}
	return int(max(3, 5*time.Millisecond/run.took))
}

// time keeps the shortest time of a run, of some times it was run in a row.
func (run *measuredRun) time(gl *glctx.GL, buffers map[role]glctx.Buffer, times int) {
	before, after := gl.NewQuery(), gl.NewQuery()
	defer gl.DeleteQuery(before)
	defer gl.DeleteQuery(after)
	run.dispatch(gl, run.recipe.prepare, buffers)
	start := time.Now()
	gl.Stamp(before)
	for range times {
		run.dispatch(gl, run.recipe.steps, buffers)
	}
	gl.Stamp(after)
	gl.Finish()
	took := gl.Stamped(after) - gl.Stamped(before)
	if took <= 0 { // some software drivers have no clock
		took = time.Since(start)
	}
	if took /= time.Duration(times); run.took == 0 || took < run.took {
		run.took = took
	}
}

func (run *measuredRun) dispatch(gl *glctx.GL, steps []step, buffers map[role]glctx.Buffer) {
	for _, s := range steps {
		dispatchStep(gl, s, run.programs[s.source], buffers)
	}
}
