package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// The workloads.
const (
	Small    = "small"    // jobs of 4 KiB each way
	Large    = "large"    // jobs of LargeBytes each way
	Conv     = "conv"     // convolutions of ResNet, on the devices
	GEMM     = "gemm"     // a matrix product, on the devices and from slices
	Wave     = "wave"     // a simulation with faces that go from device to device
	Messages = "messages" // from a session on one device to one on another, and back
	Move     = "move"     // checkpoints that continue on another device
	Start    = "start"    // processes that load programs
)

// Workloads are all of them, in the order in which they are measured.
var Workloads = []string{Start, Small, Large, Conv, GEMM, Wave, Messages, Move}

// Options configure Run.
type Options struct {
	Workloads    []string     `flag:"workloads" list:"commas" help:"one or several"`
	Repeat       int          `flag:"repeat" help:"runs of each figure"`
	Seconds      float64      `flag:"seconds" help:"about how long each run of a row takes"`
	KernelMicros float64      `flag:"kernel-us" help:"length of the kernel of a job"`
	LargeBytes   cli.ByteSize `flag:"large-bytes" help:"bytes each way of a large job (default 16 MiB)"`
	Images       int          `flag:"images" help:"images of a convolution"`
	Matrix       int          `flag:"matrix" help:"side of the matrices"`
	Side         int          `flag:"side" help:"cells of a side of the volume of the wave"`
	Programs     int          `flag:"programs" help:"programs of a start"`
}

// DefaultOptions are those of the command.
func DefaultOptions() Options {
	return Options{Workloads: Workloads, Repeat: 3, Seconds: 0.5, KernelMicros: 1000, LargeBytes: 16 << 20, Images: 64, Matrix: 16384, Side: 512, Programs: 48}
}

// Validate returns an error for options that Run does not accept.
func (o Options) Validate() error {
	for _, name := range o.Workloads {
		if !slices.Contains(Workloads, name) {
			return fmt.Errorf("there is no workload %q (there are %s)", name, strings.Join(Workloads, ", "))
		}
	}
	switch {
	case o.Repeat < 1 || o.Repeat > 100:
		return errors.New("--repeat must be 1 to 100")
	case o.Seconds <= 0 || o.Seconds > 60:
		return errors.New("--seconds must be above 0 and at most 60")
	case o.KernelMicros < 1 || o.KernelMicros > 100_000:
		return errors.New("--kernel-us must be 1 to 100000")
	case o.LargeBytes < 4096 || o.LargeBytes > 1<<28 || o.LargeBytes%4096 != 0:
		return errors.New("--large-bytes must be a multiple of 4096, at most 256 MiB")
	case o.Images < 1 || o.Images > 1024:
		return errors.New("--images must be 1 to 1024")
	case o.Matrix < 16 || o.Matrix > 20_000 || o.Matrix%4 != 0:
		return errors.New("--matrix must be a multiple of 4, 16 to 20000")
	case o.Side < 2 || o.Side > 1024:
		return errors.New("--side must be 2 to 1024")
	case o.Programs < 1 || o.Programs > 1000:
		return errors.New("--programs must be 1 to 1000")
	}
	return nil
}

// run is one call of Run.
type run struct {
	Options
	cli    *cli.Options
	ctx    context.Context
	group  *cli.Group
	info   glctx.Info // of the first GPU
	result *Result
}

// Run measures the workloads on the GPUs of the flags, by default on all, and on the first
// of them. After an interrupt it returns the rows that are done.
func Run(o *cli.Options, options Options) (*Result, error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	r := &run{Options: options, cli: measure.Own(o), ctx: ctx, result: &Result{Rows: []Row{}, Starts: []StartRow{}, Messages: []MessageRow{}, Moves: []MoveRow{}, Verified: true}}
	r.result.Origin = cli.NewOrigin()
	err := r.measure()
	if r.result.Interrupted = err != nil && ctx.Err() != nil && len(r.result.Rows)+len(r.result.Starts) > 0; r.result.Interrupted {
		return r.result, nil
	}
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	return r.result, nil
}

// measure measures starts in processes of their own, and the rest with one group.
func (r *run) measure() error {
	if slices.Contains(r.Workloads, Start) {
		if err := r.starts(); err != nil {
			return err
		}
	}
	for _, w := range []struct {
		name    string
		options executor.Options
		measure func() error
	}{
		// A slot a job: its kernel takes longer than a batch saves.
		{Small, executor.Options{Depth: 8, SlotBytes: 4 * smallBytes, SlotJobs: 1}, func() error { return r.jobs(Small, smallBytes, 4, nil) }},
		// More slots than the GPU needs: the host copies to and from several at a time.
		// Twice the bytes of a job: Submit has room for the alignment of its operands.
		{Large, executor.Options{Depth: 8, SlotBytes: 2 * int(r.LargeBytes), SlotJobs: 1}, r.large},
		{Conv, executor.Options{}, r.convolutions},
		{GEMM, executor.Options{}, r.product},
		// A slot a job: faces go on before the interior is done.
		{Wave, executor.Options{Depth: 8, SlotBytes: smallBytes, SlotJobs: 1}, r.wave},
		{Messages, executor.Options{}, r.messages},
		{Move, executor.Options{}, r.moves},
	} {
		if !slices.Contains(r.Workloads, w.name) {
			continue
		}
		if err := r.onGroup(w.options, w.measure); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// onGroup opens the group, calls measure and closes the group.
func (r *run) onGroup(o executor.Options, measure func() error) (err error) {
	r.group, err = r.cli.OpenGroup(devices.Options{Device: shadercache.Options{Executor: o}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.group.Close()) }()
	members, err := r.group.Members(r.ctx)
	if err != nil {
		return err
	}
	gpu, err := r.group.Local()
	if err != nil {
		return err
	}
	r.info = gpu.Context.Info()
	r.result.GPU, r.result.Driver = r.group.Name(), r.info.Driver
	r.result.Devices = len(members)
	r.result.DriverCache = (&cli.GPU{GPU: gpu}).DriverCacheState()
	return measure()
}

// compare measures a rate with one device and with all, Repeat times in turn, and adds the
// row.
func (r *run) compare(row Row, measure func(device shadercache.Device) (rate float64, err error)) error {
	one, err := r.group.Member(r.ctx, 0)
	if err != nil {
		return err
	}
	var ones, alls []float64
	before := r.group.MemberStats()
	for range r.Repeat {
		for _, m := range []struct {
			device shadercache.Device
			rates  *[]float64
		}{{one, &ones}, {r.group.Group, &alls}} {
			rate, err := measure(m.device)
			if err != nil {
				return err
			}
			*m.rates = append(*m.rates, rate)
		}
	}
	for rank, s := range r.group.MemberStats() {
		if jobs := s.Jobs - before[rank].Jobs; jobs > 0 {
			row.Jobs = append(row.Jobs, jobs)
		}
	}
	row.One, row.All = stats.NewSpread(ones), stats.NewSpread(alls)
	row.Ratio = row.All.Median / row.One.Median
	r.result.Verified = r.result.Verified && row.Verified
	r.result.Rows = append(r.result.Rows, row)
	return nil
}

// smallBytes is the size of a small job, each way.
const smallBytes = 4096

// perSecond returns n things in the time since began as a rate.
func perSecond(n int, began time.Time) float64 { return float64(n) / time.Since(began).Seconds() }
