package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/internal/cli"
)

// The scenarios of the start-up benchmark, in the order of their report.
const (
	scenarioCold       = "cold"
	scenarioBinaryOnly = "binary_only"
	scenarioDriverOnly = "driver_only"
	scenarioBoth       = "both"
)

var scenarioNames = []string{scenarioCold, scenarioBinaryOnly, scenarioDriverOnly, scenarioBoth}

// startupBench runs the scenarios.
type startupBench struct {
	programs  int
	repeat    int
	scenarios []string // to report
	workDir   string
	preload   bool
	chart     string

	options *options
	bar     *progressbar.ProgressBar
	gpu     string
	driver  string
	origin  cli.Origin
	runs    map[string][]scenarioFigures
}

// run measures every scenario and removes what it made on disk.
func (b *startupBench) run(o *options) (*startupResult, error) {
	b.options, b.runs, b.origin = o, map[string][]scenarioFigures{}, cli.NewOrigin()
	if b.chart != "" {
		if err := cli.MakeFolder(filepath.Dir(b.chart)); err != nil {
			return nil, err
		}
	}
	work, err := os.MkdirTemp(b.workDir, "shadercache-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	ctx, stop := cli.Interruptible()
	defer stop()
	b.bar = o.NewProgress(1+b.repeat*len(b.plan()), "measuring")
	if err := b.warmUp(ctx, filepath.Join(work, "warm-up")); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	for i := range b.repeat {
		dir := filepath.Join(work, strconv.Itoa(i))
		if err := b.round(ctx, dir); err != nil {
			return nil, fmt.Errorf("bench: %w", err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	_ = b.bar.Finish()
	return b.report(), nil
}

// warmUp runs a process that does not count, so that the first one that does finds
// the driver's libraries in memory as the others do.
func (b *startupBench) warmUp(ctx context.Context, dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	_, err := b.child(ctx, scenarioCold, dir, 1)
	_ = b.bar.Add(1)
	return err
}

// plan is what has to run: the cold start comes first, since it fills the
// directories of the others.
func (b *startupBench) plan() []string {
	plan := slices.Clone(b.scenarios)
	if !slices.Contains(plan, scenarioCold) {
		plan = slices.Insert(plan, 0, scenarioCold)
	}
	return plan
}

// round runs each scenario once, in directories below dir.
func (b *startupBench) round(ctx context.Context, dir string) error {
	filled := filepath.Join(dir, scenarioCold)
	for _, scenario := range b.plan() {
		own := filepath.Join(dir, scenario)
		if err := prepareScenario(scenario, filled, own); err != nil {
			return err
		}
		figures, err := b.child(ctx, scenario, own, b.programs)
		if err != nil {
			return fmt.Errorf("%s: %w", scenario, err)
		}
		b.runs[scenario] = append(b.runs[scenario], figures)
		_ = b.bar.Add(1)
	}
	return nil
}

// prepareScenario makes the directory own of a scenario from what a cold start
// left in filled.
func prepareScenario(scenario, filled, own string) error {
	if err := os.MkdirAll(own, 0o700); err != nil {
		return err
	}
	if scenario == scenarioCold {
		return nil
	}
	entries, err := os.ReadDir(filled)
	if err != nil {
		return err
	}
	for _, e := range entries {
		isDriver := e.Name() == driverFolder
		if !e.IsDir() || isDriver && scenario == scenarioBinaryOnly || !isDriver && scenario == scenarioDriverOnly {
			continue
		}
		if err := copyTree(filepath.Join(filled, e.Name()), filepath.Join(own, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// driverFolder is where a cache directory has the driver's own cache.
const driverFolder = "driver"

// copyTree copies a folder for nobody but the user.
func copyTree(from, to string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return os.Chmod(to, 0o700)
}

// child runs one scenario in a fresh process of this executable.
func (b *startupBench) child(ctx context.Context, scenario, dir string, programs int) (scenarioFigures, error) {
	executable, err := os.Executable()
	if err != nil {
		return scenarioFigures{}, err
	}
	arguments := []string{"bench", startupChildName, "--dir", dir, "--device", b.options.Device,
		"--log-level", b.options.LogLevel.String(), "--programs", strconv.Itoa(programs)}
	if scenario == scenarioDriverOnly {
		arguments = append(arguments, "--memory-only")
	}
	if b.preload {
		arguments = append(arguments, "--preload")
	}
	state := driverCacheState(dir)
	var stdout bytes.Buffer
	child := exec.CommandContext(ctx, executable, arguments...)
	child.Args[0] = os.Args[0]
	child.Stdout, child.Stderr = &stdout, b.options.Stderr
	child.Env = append(scenarioEnvironment(os.Environ()), fmt.Sprintf("%s=%d", startedEnvironment, time.Now().UnixNano()))
	if err := child.Run(); err != nil {
		if ctx.Err() != nil {
			return scenarioFigures{}, ctx.Err()
		}
		if errors.As(err, new(*exec.ExitError)) {
			return scenarioFigures{}, cli.ErrReported // the child said what is wrong
		}
		return scenarioFigures{}, err
	}
	var r childResult
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		return scenarioFigures{}, fmt.Errorf("the child printed no result: %w", err)
	}
	b.gpu, b.driver = r.GPU, r.Driver
	if r.DriverCache == "" {
		r.DriverCache = state
	}
	return r.scenarioFigures, nil
}

// driverCacheState says what the driver's own cache in dir holds.
func driverCacheState(dir string) string {
	bytes := drivercache.Bytes(filepath.Join(dir, driverFolder))
	if bytes == 0 {
		return "empty"
	}
	return "warm, " + cli.ReadableBytes(bytes)
}

// scenarioEnvironment leaves out settings of the driver's own cache: they would
// win over the scenario's.
func scenarioEnvironment(environment []string) []string {
	return slices.DeleteFunc(environment, func(setting string) bool {
		for _, prefix := range []string{"__GL_SHADER_DISK_CACHE", "MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_", "MESA_DISK_CACHE_"} {
			if strings.HasPrefix(setting, prefix) {
				return true
			}
		}
		return false
	})
}

func (b *startupBench) report() *startupResult {
	r := &startupResult{
		Workload:  "startup" + strconv.Itoa(b.programs),
		GPU:       b.gpu,
		Driver:    b.driver,
		Origin:    b.origin,
		Programs:  b.programs,
		Repeat:    b.repeat,
		Preload:   b.preload,
		Scenarios: map[string]scenarioFigures{},
		Verified:  true,
	}
	all := map[string]scenarioFigures{}
	for name, runs := range b.runs {
		all[name] = medianFigures(runs)
		r.Verified = r.Verified && all[name].Verified
	}
	for _, name := range b.scenarios {
		r.Scenarios[name] = all[name]
	}
	cold, both := all[scenarioCold], all[scenarioBoth]
	r.SpeedupVsCold = speedup(cold.TotalMillis, both.TotalMillis)
	r.SpeedupVsDriverOnly = speedup(all[scenarioDriverOnly].TotalMillis, both.TotalMillis)
	r.ProcessSpeedupVsCold = speedup(cold.ProcessMillis, both.ProcessMillis)
	return r
}

// speedup is 0 where a scenario did not run.
func speedup(slow, fast float64) float64 {
	if slow == 0 || fast == 0 {
		return 0
	}
	return slow / fast
}

// medianFigures takes the median of each time, the most compiles, and a
// verdict that no run contradicts.
func medianFigures(runs []scenarioFigures) scenarioFigures {
	middle := func(get func(scenarioFigures) float64) float64 {
		values := make([]float64, len(runs))
		for i, r := range runs {
			values[i] = get(r)
		}
		return median(values)
	}
	total := func(r scenarioFigures) float64 { return r.TotalMillis }
	m := scenarioFigures{
		GetMillis:           middle(func(f scenarioFigures) float64 { return f.GetMillis }),
		FirstDispatchMillis: middle(func(f scenarioFigures) float64 { return f.FirstDispatchMillis }),
		ToFirstResultMillis: middle(func(f scenarioFigures) float64 { return f.ToFirstResultMillis }),
		TotalMillis:         middle(total),
		LeastTotalMillis:    total(slices.MinFunc(runs, byTotal)),
		MostTotalMillis:     total(slices.MaxFunc(runs, byTotal)),
		ContextMillis:       middle(func(f scenarioFigures) float64 { return f.ContextMillis }),
		ProcessMillis:       middle(func(f scenarioFigures) float64 { return f.ProcessMillis }),
		DriverCache:         runs[0].DriverCache,
		Verified:            true,
		leastCompiles:       runs[0].Compiles,
	}
	for _, r := range runs {
		m.Compiles, m.leastCompiles = max(m.Compiles, r.Compiles), min(m.leastCompiles, r.Compiles)
		m.Verified = m.Verified && r.Verified
	}
	return m
}

func byTotal(a, b scenarioFigures) int { return cmp.Compare(a.TotalMillis, b.TotalMillis) }

// median of at least one value; the mean of the middle two of an even number.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
