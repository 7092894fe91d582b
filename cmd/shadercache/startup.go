package main

import (
	"bytes"
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
)

// The scenarios of the start-up benchmark, in the order of their report.
const (
	scenarioCold       = "cold"
	scenarioBinaryOnly = "binary_only"
	scenarioDriverOnly = "driver_only"
	scenarioBoth       = "both"
)

var scenarioNames = []string{scenarioCold, scenarioBinaryOnly, scenarioDriverOnly, scenarioBoth}

// startupResult is what bench startup prints.
type startupResult struct {
	Workload            string                     `json:"workload"`
	GPU                 string                     `json:"gpu"`
	Driver              string                     `json:"driver"`
	Programs            int                        `json:"programs"`
	Repeat              int                        `json:"repeat"`
	Preload             bool                       `json:"preload"`
	Scenarios           map[string]scenarioFigures `json:"scenarios"`
	SpeedupVsCold       float64                    `json:"speedup_vs_cold,omitempty"`
	SpeedupVsDriverOnly float64                    `json:"speedup_vs_driver_only,omitempty"`
	Verified            bool                       `json:"verified"`
}

// scenarioFigures are milliseconds, see benchStartupUsage.
type scenarioFigures struct {
	GetMillis           float64 `json:"get_ms"`
	FirstDispatchMillis float64 `json:"first_dispatch_ms"`
	ToFirstResultMillis float64 `json:"to_first_result_ms"`
	TotalMillis         float64 `json:"total_ms"`
	ContextMillis       float64 `json:"context_ms"`
	ProcessMillis       float64 `json:"process_ms"`
	Compiles            uint64  `json:"compiles"`
	DriverCache         string  `json:"driver_cache"` // its state when the process started
	Verified            bool    `json:"verified"`
}

// startupBench runs the scenarios.
type startupBench struct {
	programs  int
	repeat    int
	scenarios []string // to report
	workDir   string
	preload   bool

	options *options
	bar     *progressbar.ProgressBar
	gpu     string
	driver  string
	runs    map[string][]scenarioFigures
}

// run measures every scenario and removes what it made on disk.
func (b *startupBench) run(o *options) (*startupResult, error) {
	b.options, b.runs = o, map[string][]scenarioFigures{}
	work, err := os.MkdirTemp(b.workDir, "shadercache-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	ctx, stop := interruptible()
	defer stop()
	b.bar = o.newProgress(b.repeat*len(b.plan()), "measuring")
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
		figures, err := b.child(ctx, scenario, own)
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
func (b *startupBench) child(ctx context.Context, scenario, dir string) (scenarioFigures, error) {
	executable, err := os.Executable()
	if err != nil {
		return scenarioFigures{}, err
	}
	arguments := []string{"bench", startupChildName, "--dir", dir, "--device", b.options.device,
		"--log-level", b.options.logLevel.String(), "--programs", strconv.Itoa(b.programs)}
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
	child.Stdout, child.Stderr = &stdout, b.options.stderr
	child.Env = append(scenarioEnvironment(os.Environ()), fmt.Sprintf("%s=%d", startedEnvironment, time.Now().UnixNano()))
	if err := child.Run(); err != nil {
		if ctx.Err() != nil {
			return scenarioFigures{}, ctx.Err()
		}
		if errors.As(err, new(*exec.ExitError)) {
			return scenarioFigures{}, errReported // the child said what is wrong
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
	bytes := treeBytes(filepath.Join(dir, driverFolder))
	if bytes == 0 {
		return "empty"
	}
	return "warm, " + readableBytes(bytes)
}

// scenarioEnvironment leaves out settings of the driver's own cache: they would
// win over the scenario's.
func scenarioEnvironment(environment []string) []string {
	return slices.DeleteFunc(environment, func(setting string) bool {
		for _, prefix := range []string{"__GL_SHADER_DISK_CACHE", "MESA_SHADER_CACHE_", "MESA_GLSL_CACHE_"} {
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
	r.SpeedupVsCold = speedup(all[scenarioCold], all[scenarioBoth])
	r.SpeedupVsDriverOnly = speedup(all[scenarioDriverOnly], all[scenarioBoth])
	return r
}

// speedup is 0 where a scenario did not run.
func speedup(slow, fast scenarioFigures) float64 {
	if slow.TotalMillis == 0 || fast.TotalMillis == 0 {
		return 0
	}
	return slow.TotalMillis / fast.TotalMillis
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
	m := scenarioFigures{
		GetMillis:           middle(func(f scenarioFigures) float64 { return f.GetMillis }),
		FirstDispatchMillis: middle(func(f scenarioFigures) float64 { return f.FirstDispatchMillis }),
		ToFirstResultMillis: middle(func(f scenarioFigures) float64 { return f.ToFirstResultMillis }),
		TotalMillis:         middle(func(f scenarioFigures) float64 { return f.TotalMillis }),
		ContextMillis:       middle(func(f scenarioFigures) float64 { return f.ContextMillis }),
		ProcessMillis:       middle(func(f scenarioFigures) float64 { return f.ProcessMillis }),
		DriverCache:         runs[0].DriverCache,
		Verified:            true,
	}
	for _, r := range runs {
		m.Compiles = max(m.Compiles, r.Compiles)
		m.Verified = m.Verified && r.Verified
	}
	return m
}

// median of at least one value; the mean of the middle two of an even number.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
