package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/tune"
)

// tuneDevice is one of several GPUs that measure.
type tuneDevice struct {
	cli.DeviceLine               // GPUs with one folder divide the problems; the error is also why it does not measure any more
	Measured       int           `json:"measured"` // problems
	Busy           time.Duration `json:"busy_ns"`  // the time that its processes took
}

// tuning is a run of tune on several GPUs. Each problem is measured by a process of its own,
// so that times are those of a GPU alone.
type tuning struct {
	o      *options
	flags  []string // of the command line, for processes
	all    bool     // --all
	table  string   // --table
	shapes []conv2d.Shape
	result *tuneResult
}

// tuner is a GPU that measures.
type tuner struct {
	*tuneDevice
	turn *sync.Mutex // of the GPU: contexts on one would disturb each other's times
}

// tuneSeveral tunes the problems for each model among the GPUs of --device.
func (o *options) tuneSeveral(cmd *cobra.Command, shapes []conv2d.Shape, f tuneFlags) (*tuneResult, error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	r := &tuneResult{Header: bench.Header{Origin: cli.NewOrigin()}, Problems: []tunedResult{}}
	lines, err := o.Devices()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	models := cli.Models(lines)
	if f.Table != "" {
		if err := checkTable(f.Table, models); err != nil {
			return nil, err
		}
	}
	t := &tuning{o: o, flags: changedFlags(cmd), all: f.All, table: f.Table, shapes: shapes, result: r}
	r.Devices = make([]tuneDevice, 0, len(lines)) // tuners point to its elements
	turns := map[int]*sync.Mutex{}
	for _, m := range models {
		tuners := t.tunersOf(m, turns)
		if len(tuners) > 0 && ctx.Err() == nil {
			err = errors.Join(err, t.tuneModel(ctx, tuners))
		}
	}
	r.Interrupted, r.Elapsed = ctx.Err() != nil, time.Since(began)
	return r, err
}

// changedFlags returns the flags of the command alone that were given, but the table: one
// process writes that.
func changedFlags(cmd *cobra.Command) (list []string) {
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { // its Visit visits none
		if f.Changed && f.Name != "table" {
			list = append(list, "--"+f.Name+"="+f.Value.String())
		}
	})
	return list
}

// tunersOf adds the GPUs of a model to the result and returns those that can be used.
func (t *tuning) tunersOf(m []cli.DeviceLine, turns map[int]*sync.Mutex) (tuners []tuner) {
	for _, d := range m {
		t.result.Devices = append(t.result.Devices, tuneDevice{DeviceLine: d})
		if turns[d.Index] == nil {
			turns[d.Index] = &sync.Mutex{}
		}
		if d.Err == nil {
			tuners = append(tuners, tuner{&t.result.Devices[len(t.result.Devices)-1], turns[d.Index]})
		}
	}
	return tuners
}

// tuneModel tunes the problems on GPUs of one model, which divide them, and adds a line for
// each to the result, and the winners to the table. What one of them could not measure another
// one does; a GPU that could not has an error.
func (t *tuning) tuneModel(ctx context.Context, tuners []tuner) error {
	lines := make([]*tunedResult, len(t.shapes))
	progress := t.o.NewPieces(len(t.shapes), "tuning for "+tuners[0].Name)
	left := divide(tuners, len(t.shapes), func(by tuner, i int) bool {
		by.turn.Lock()
		defer by.turn.Unlock()
		if ctx.Err() == nil {
			progress.Begin(t.shapes[i].String())
			lines[i] = t.tuneOne(ctx, by, t.shapes[i])
			progress.End(t.shapes[i].String())
		}
		return by.Error == ""
	})
	progress.Finish()
	for _, i := range left {
		lines[i] = &tunedResult{Result: tune.Result{Problem: t.shapes[i].String()}, Folder: tuners[0].Folder, Error: "no GPU of this model was left to measure it"}
	}
	return t.addModel(tuners[0].Name, slices.DeleteFunc(lines, func(line *tunedResult) bool { return line == nil }))
}

// addModel adds the lines of a model to the result, and the winners to the table.
func (t *tuning) addModel(gpu string, lines []*tunedResult) error {
	var winners []tune.Result
	for _, line := range lines {
		t.result.Problems = append(t.result.Problems, *line)
		if line.Error == "" {
			winners = append(winners, line.Result)
		}
	}
	if t.table == "" || len(winners) == 0 {
		return nil
	}
	return addToTable(gpu, t.table, winners)
}

// tuneOne runs a process that tunes one problem on one GPU. It returns no line after an
// interrupt, and where the process has no result: then the GPU has an error.
func (t *tuning) tuneOne(ctx context.Context, by tuner, s conv2d.Shape) *tunedResult {
	began := time.Now()
	var output, messages bytes.Buffer
	err := t.runOne(ctx, by, s, &output, &messages)
	if ctx.Err() != nil {
		return nil
	}
	failures := t.passMessages(messages.Bytes())
	var r tuneResult
	if invalid := json.Unmarshal(output.Bytes(), &r); invalid != nil || len(r.Problems) != 1 || err != nil && !errors.As(err, new(*exec.ExitError)) {
		by.Error = fmt.Sprintf("%s was not tuned: %v", s, errors.Join(append(failures, err)...))
		return nil
	}
	line := r.Problems[0]
	line.Device, line.Folder, line.all = by.Option(), by.Folder, line.Candidates
	if !t.all {
		line.Candidates = nil
	}
	by.Busy += time.Since(began)
	if !line.Known {
		by.Measured++
	}
	return &line
}

// runOne runs the process of tuneOne.
func (t *tuning) runOne(ctx context.Context, by tuner, s conv2d.Shape, output, messages io.Writer) error {
	own := t.o.Options
	own.Device, own.JSON = by.Option(), true
	child, err := own.ChildCommand(ctx, t.o.Dir, []string{"tune"}, append(slices.Clone(t.flags), "--all", "--", s.String())...)
	if err != nil {
		return err
	}
	child.Stdout, child.Stderr = output, messages
	child.Cancel = func() error { return child.Process.Signal(os.Interrupt) }
	_, err = cli.RunApart(child, nil)
	return err
}

// passMessages logs the warnings of a process and returns its errors.
func (t *tuning) passMessages(lines []byte) (failures []error) {
	for line := range bytes.Lines(lines) {
		m := cli.JSONMessage{Message: string(bytes.TrimSpace(line))} // of a driver
		if json.Unmarshal(line, &m) == nil && m.Level == "error" {
			failures = append(failures, errors.New(m.Message))
		} else {
			t.o.Logger().Warn(m.Message)
		}
	}
	return failures
}

// printTuneDevices prints a line for each GPU.
func (r *tuneResult) printTuneDevices(w io.Writer) {
	fmt.Fprintf(w, "%s\n\nGPU\tname\tdriver\tfolder\tmeasured\tbusy\n", r.Origin)
	for _, d := range r.Devices {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%d\t%s\n", d.Option(), cmp.Or(d.Name, "-"), cmp.Or(d.Driver, "-"), cmp.Or(d.Folder, "-"), d.Measured, cli.ReadableDuration(d.Busy))
	}
	for _, d := range r.Devices {
		if d.Error != "" {
			fmt.Fprintf(w, "%s: %s\n", &d.DeviceLine, cli.EscapeText(d.Error))
		}
	}
	fmt.Fprintf(w, "%s in all\n\n", cli.ReadableDuration(r.Elapsed))
}
