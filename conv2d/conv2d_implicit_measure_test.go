//go:build linux

package conv2d

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
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
	Estimate  float64 `json:"estimated_us,omitempty"` // of the product alone, at 1.755 GHz
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

func measureProblem(t *testing.T, r *Runner, p Problem, algorithms *regexp.Regexp, to *json.Encoder) {
	in := tensorsOf{input: RandomValues(p.InputLen(), 1), weights: RandomValues(p.WeightsLen(), 2)}
	want := ReferenceConv2D(p, in.input, in.weights, nil)
	best := measured{}
	for _, a := range convAlgorithms {
		if !algorithms.MatchString(a.name) {
			continue
		}
		for _, params := range measuredParams(t, a, p, deviceOf(r.Context.Info())) {
			m := measured{Shape: p.String(), Algorithm: a.name, Params: params.String()}
			if err := m.measure(t, r, a, p, params, in, want); err != nil {
				t.Errorf("%v: %s %v: %v", p, a.name, params, err)
				continue
			}
			if err := to.Encode(m); err != nil {
				t.Fatal(err)
			}
			if m.Wrong == 0 && (best.Micros == 0 || m.Micros < best.Micros) {
				best = m
			}
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

func (m *measured) measure(t *testing.T, r *Runner, a algorithm[Problem], p Problem, params Params, in tensorsOf, want Expected) error {
	recipe, err := a.recipe(p, params, deviceOf(r.Context.Info()))
	if err != nil {
		return err
	}
	values, took, err := timeRecipe(t, r, recipe, in, p.OutputLen())
	if err != nil {
		return err
	}
	report := Compare(values, want, a.tolerance(p))
	m.Micros, m.TFLOPs = float64(took.Nanoseconds())/1e3, float64(p.FLOPs())/float64(took.Nanoseconds())/1e3
	m.MaxError, m.Wrong = report.MaxError, report.Wrong
	if tile, err := readImplicitTile(params); err == nil {
		product := p
		switch a.name {
		case "winograd2":
			product = winograd{p, 2}.product()
		case "winograd4":
			product = winograd{p, 4}.product()
		}
		m.Estimate = implicitProduct{product, tile}.cycles() / 1755
	}
	return report.Err()
}

// timeRecipe runs a recipe until it was timed, and reads the result.
func timeRecipe(t *testing.T, r *Runner, recipe recipe, in tensorsOf, outputs int) (values []float32, took time.Duration, err error) {
	programs := map[*binary.Source]*cache.Handle{}
	for _, s := range append(recipe.prepare[:len(recipe.prepare):len(recipe.prepare)], recipe.steps...) {
		handle, err := r.Cache.Get(t.Context(), s.source)
		if err != nil {
			return nil, 0, err
		}
		defer handle.Release()
		programs[s.source] = handle
	}
	err = r.Context.Do(func(gl *glctx.GL) (err error) {
		memory := tensors{gl: gl}
		defer memory.free()
		buffers := map[role]glctx.Buffer{
			inputRole: memory.upload(in.input), weightsRole: memory.upload(in.weights), outputRole: memory.poisoned(outputs),
			packedRole: memory.poisoned(recipe.packed), workspaceRole: memory.poisoned(recipe.workspace),
		}
		if memory.err != nil {
			return memory.err
		}
		for _, s := range recipe.prepare {
			dispatchStep(gl, s, programs[s.source].Program(), buffers)
		}
		run := func(times int) time.Duration {
			before, after := gl.NewQuery(), gl.NewQuery()
			defer gl.DeleteQuery(before)
			defer gl.DeleteQuery(after)
			start := time.Now()
			gl.Stamp(before)
			for range times {
				for _, s := range recipe.steps {
					s.uniforms = s.uniforms[:0:0] // set already
					dispatchStep(gl, s, programs[s.source].Program(), buffers)
				}
			}
			gl.Stamp(after)
			gl.Finish()
			if took := gl.Stamped(after) - gl.Stamped(before); took > 0 {
				return took / time.Duration(times)
			}
			return time.Since(start) / time.Duration(times)
		}
		for _, s := range recipe.steps {
			dispatchStep(gl, s, programs[s.source].Program(), buffers)
		}
		took = run(2)
		for range 3 {
			took = min(took, run(int(max(3, 10*time.Millisecond/max(took, time.Microsecond)))))
		}
		values, err = memory.download(buffers[outputRole], outputs)
		return err
	})
	if err != nil {
		return nil, 0, fmt.Errorf("run: %w", err)
	}
	return values, took, nil
}
