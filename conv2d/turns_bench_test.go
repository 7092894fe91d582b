//go:build linux

package conv2d

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/conv2d/internal/kernel"
	"github.com/shadercache/shadercache/conv2d/internal/parallel"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

var turnsFloors = flag.Bool("floors", false, "BenchmarkTurns also measures what bounds the first choice of each problem")

var turnsFlag = flag.String("turns", "", "file of BenchmarkTurns: on each line a shape, a space, and a choice as the shipped table has it")

const (
	turnsRounds = 7
	turnsNanos  = 2e6 // of a batch
	turnsWake   = 200 * time.Millisecond
	turnsWhole  = 1 << 32 // products up to which the CPU computes every element
	turnsFormat = "%-34s %10.2f us  %10.2f to %10.2f  %8.2f TFLOP/s  %5.3f of the first  %s  %s\n"
)

// BenchmarkTurns measures the choices of a file against each other: those of a problem in
// turns, one batch of each in a round, so that clock and temperature are the same for all.
// Every element of a result is compared with the CPU's; where that takes the CPU too long,
// a sample of the first one's, and every element of the others with the first one's, to the
// bit, else another sample. Run it with -test.benchtime 1x; SHADERCACHE_TEST_DEVICES names
// the device.
func BenchmarkTurns(b *testing.B) {
	if *turnsFlag == "" {
		b.Skip("-turns names the file of choices")
	}
	data, err := os.ReadFile(*turnsFlag)
	if err != nil {
		b.Fatal(err)
	}
	context := gltest.OpenWith(b, glctx.Options{Device: gltest.Devices(1)[0]})
	r := &rig{context, newCache(b, context, b.TempDir())}
	fmt.Printf("%s, %s\n", r.context.Info().GPU, r.context.Info().Driver)
	var shapes []string
	choices := map[string][]Choice{}
	for line := range strings.Lines(string(data)) {
		name, text, ok := strings.Cut(strings.TrimSpace(line), " ")
		var c Choice
		if err := json.Unmarshal([]byte(text), &c); !ok || err != nil {
			b.Fatalf("%s: %v", line, err)
		}
		if !slices.Contains(shapes, name) {
			shapes = append(shapes, name)
		}
		choices[name] = append(choices[name], c)
	}
	for _, name := range shapes {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				p, err := newTurns(r, name, choices[name])
				if err == nil {
					err = p.run(b)
				}
				if err != nil {
					b.Error(err)
				}
			}
		})
	}
}

// turns is a problem with the choices that are compared.
type turns struct {
	task
	rig     *rig
	in      kernel.Tensors
	want    *Expected // nil: the problem is too large
	first   []float32 // the result of the first choice
	entries []*timedChoice
}

// timedChoice is one of them, with its sequence and its times.
type timedChoice struct {
	choice   Choice
	floor    string // the name of a bound that is measured beside the choices, else ""
	sequence kernel.Sequence
	run      *kernel.Run
	reps     int
	checked  string
	nanos    []float64

	tolerance float64
}

// String returns the choice, or the name of the floor.
func (c *timedChoice) String() string {
	if c.floor != "" {
		return "floor: " + c.floor
	}
	return c.choice.String()
}

func newTurns(r *rig, name string, choices []Choice) (*turns, error) {
	shape, err := ParseShape(name)
	if err != nil {
		return nil, err
	}
	t, err := newTask(shape, r.context.Info())
	if err != nil {
		return nil, err
	}
	p := &turns{task: t, rig: r, in: t.repeatedTensors(1)}
	for _, c := range choices {
		made, tolerance, err := t.build(c)
		if err != nil {
			leftOut(name, c, err)
			continue
		}
		p.entries = append(p.entries, &timedChoice{choice: c, sequence: made, tolerance: tolerance})
	}
	if t.flops/2 <= turnsWhole {
		want := t.shape.reference(p.in)
		p.want = &want
	}
	return p, nil
}

func leftOut(problem any, c Choice, err error) {
	fmt.Printf("%-34s left out: %v: %v\n", problem, c, err)
}

// compile makes the programs, side by side where the driver can, and leaves out the
// choices that have none.
func (p *turns) compile(b *testing.B) map[shader.Key]uint32 {
	var sources []*shader.Source
	for _, each := range p.entries {
		for _, s := range each.sequence.All() {
			if !slices.ContainsFunc(sources, func(o *shader.Source) bool { return o.Key() == s.Source.Key() }) {
				sources = append(sources, s.Source)
			}
		}
	}
	_, _ = p.rig.cache.Preload(b.Context(), sources, nil) // an error comes again below
	all := map[shader.Key]uint32{}
	p.entries = slices.DeleteFunc(p.entries, func(each *timedChoice) bool {
		programs, err := p.rig.programs(b, each.sequence)
		if err != nil {
			leftOut(p.shape, each.choice, err)
		}
		maps.Copy(all, programs)
		return err != nil
	})
	return all
}

func (p *turns) run(b *testing.B) error {
	start := time.Now()
	programs := p.compile(b)
	compiled := time.Since(start)
	if *turnsFloors && len(p.entries) > 0 {
		p.entries = append(p.entries, p.floors(b)...)
		programs = p.compile(b)
	}
	wrong := 0
	err := p.rig.onDevice(p.in, p.output, func(gl *glctx.GL, tensors *kernel.DeviceTensors) (err error) {
		p.entries = slices.DeleteFunc(p.entries, func(each *timedChoice) bool {
			err := p.prepare(gl, each, programs, tensors)
			if err != nil {
				leftOut(p.shape, each.choice, err)
				wrong++
			}
			return err != nil
		})
		defer func() {
			for _, each := range p.entries {
				each.run.Free()
			}
		}()
		return p.time(gl, tensors)
	})
	if err == nil && len(p.entries) > 0 {
		p.print(b)
		fmt.Printf("%-34s compiled in %.2f s, all in %.2f s\n", p.shape, compiled.Seconds(), time.Since(start).Seconds())
	}
	if wrong > 0 {
		err = errors.Join(err, fmt.Errorf("%v: %d choices are wrong", p.shape, wrong))
	}
	return err
}

// prepare makes the memory of a choice and checks its result.
func (p *turns) prepare(gl *glctx.GL, each *timedChoice, programs map[shader.Key]uint32, tensors *kernel.DeviceTensors) (err error) {
	if each.run, err = kernel.NewRun(gl, each.sequence, programs); err != nil {
		return err
	}
	if err = p.check(each, tensors); err != nil {
		each.run.Free()
	}
	return err
}

// check runs a choice once, in poisoned memory, and compares its result.
func (p *turns) check(each *timedChoice, tensors *kernel.DeviceTensors) error {
	got, err := each.run.Checked(tensors)
	switch {
	case err != nil || each.floor != "":
		return err
	case p.want != nil:
		each.checked = "every element by the CPU"
		return Compare(got, *p.want, each.tolerance).Err()
	case p.first == nil:
		p.first, each.checked = got, "a sample by the CPU"
		return p.compareSample(got, p.in, each.tolerance).Err()
	}
	if n := differences(got, p.first); n > 0 {
		each.checked = fmt.Sprintf("a sample by the CPU; %d of %d differ from the first in their bits", n, len(got))
		return p.compareSample(got, p.in, each.tolerance).Err()
	}
	each.checked = "every bit by the first"
	return nil
}

// differences returns how many elements differ in their bits.
func differences(a, b []float32) (sum int) {
	counts := make([]int, 64)
	parallel.For(len(counts), func(part int) {
		for i := len(a) * part / len(counts); i < len(a)*(part+1)/len(counts); i++ {
			if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
				counts[part]++
			}
		}
	})
	for _, n := range counts {
		sum += n
	}
	return sum
}

// time measures all choices in turns. What has run for turnsWake before does not count.
func (p *turns) time(gl *glctx.GL, tensors *kernel.DeviceTensors) error {
	begin, end := gl.NewQuery(), gl.NewQuery()
	defer gl.DeleteQuery(begin)
	defer gl.DeleteQuery(end)
	batch := func(each *timedChoice) (float64, error) {
		if err := kernel.Wait(gl); err != nil {
			return 0, err
		}
		host := time.Now()
		gl.WriteTimestamp(begin)
		each.run.Repeat(tensors, each.reps)
		gl.WriteTimestamp(end)
		if err := kernel.Wait(gl); err != nil {
			return 0, err
		}
		nanos := float64(gl.Timestamp(end) - gl.Timestamp(begin))
		if nanos <= 0 { // timer queries read 0, as on llvmpipe
			nanos = float64(time.Since(host))
		}
		return nanos / float64(each.reps), nil
	}
	for start := time.Now(); len(p.entries) > 0 && time.Since(start) < turnsWake; {
		for _, each := range p.entries {
			each.reps = 1
			nanos, err := batch(each)
			if err != nil {
				return err
			}
			each.reps = int(min(max(turnsNanos/nanos, 1), 1000))
		}
	}
	rounds := turnsRounds
	if p.flops > 1<<42 { // a run of 16384x16384x16384 takes 0.2 s
		rounds = 3
	}
	for round := range rounds * len(p.entries) {
		each := p.entries[round%len(p.entries)]
		nanos, err := batch(each)
		if err != nil {
			return err
		}
		each.nanos = append(each.nanos, nanos)
	}
	return nil
}

// print prints the choices, the fastest first, beside the first one of the file.
func (p *turns) print(b *testing.B) {
	first := median(p.entries[0].nanos)
	list := slices.Clone(p.entries)
	slices.SortStableFunc(list, func(a, b *timedChoice) int { return cmp.Compare(median(a.nanos), median(b.nanos)) })
	for _, each := range list {
		nanos := median(each.nanos)
		fmt.Printf(turnsFormat, p.shape, nanos/1000, slices.Min(each.nanos)/1000, slices.Max(each.nanos)/1000,
			float64(p.flops)/nanos/1000, nanos/first, each, each.checked)
	}
	b.ReportMetric(median(list[0].nanos)/first, "best/first")
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
