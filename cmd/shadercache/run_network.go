package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/conv2d/tune"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/client"
)

const runNetworkUsage = `Run a small neural network of six layers on pictures, and compare its output
with the CPU's float64 result.

The layers are convolutions of every kind and matrix products, with fixed
weights: Gabor filters, means, and random numbers of a fixed seed. Each layer is
a plan: its algorithm is chosen, its weights are uploaded once, and data between
layers stays on the device. The pictures are pieces of the sample picture, 32 x
32 each.

With several GPUs in --device the pictures are divided among them: each has a
plan for its share, with all the weights.

After --tune, which tunes first, a second start finds programs and choices in
the cache: 0 compiles, 0 searches.

The exit code is 1 when a result was wrong.`

// networkFlags are the flags of run network.
type networkFlags struct {
	serverFlag
	Pictures int           `flag:"pictures" help:"pictures of one run" must:"1 to 256"`
	Tune     bool          `flag:"tune" help:"tune layers that were not tuned on this driver"`
	Budget   time.Duration `flag:"budget" help:"time to search for each layer" must:"1ms to 1h"`
}

// networkResult is what run network prints.
type networkResult struct {
	GPU               string         `json:"gpu"`
	Driver            string         `json:"driver"`
	Devices           []networkShare `json:"devices"` // with several in --device: what each computes
	Pictures          int            `json:"pictures"`
	Layers            []networkLayer `json:"layers"`    // of the first share
	Compiles          uint64         `json:"compiles"`  // programs that the driver compiled
	DiskHits          uint64         `json:"disk_hits"` // programs that were loaded from disk
	Searches          int            `json:"searches"`
	FirstResultMillis float64        `json:"first_result_ms"` // from the open context: plans, programs, weights and one run
	RunMillis         float64        `json:"run_ms"`          // median of later runs, with upload and download
	MaxError          float64        `json:"max_error"`       // largest difference; the output is from 0 to 1
	Verified          bool           `json:"verified"`        // every result is right
	Server            bool           `json:"server"`          // a server computed; counters are those of the time of this run
	Uploaded          bool           `json:"uploaded"`        // weights went to the GPU; false where a server had them
}

// networkLayer is the plan of one layer.
type networkLayer struct {
	Name  string `json:"name"`
	Shape string `json:"shape"`
	job.LayerChoice
}

func (o *options) runNetworkCommand() cli.Command {
	f := networkFlags{serverFlag: newServerFlag(), Pictures: 8, Budget: 5 * time.Second}
	return cli.Command{
		Use:     "network [--pictures N] [--tune] [--budget TIME] [--server PATH]",
		Short:   "Run a small neural network on the GPU",
		Long:    runNetworkUsage,
		Example: "  shadercache run network --tune && shadercache run network --tune",
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: networkResult{},
		Check: func(cmd *cobra.Command, _ []string) error { return f.check(cmd, o) },
		Run:   func(*cobra.Command, []string) (cli.Result, error) { return o.runNetwork(f) },
	}
}

func (f *networkFlags) check(cmd *cobra.Command, o *options) error {
	if err := cmp.Or(cli.RefuseUnused(cmd, f.Tune, "--tune", "budget"), f.serverFlag.check(cmd)); err != nil {
		return err
	}
	switch {
	case f.Tune && o.SeveralDevices():
		return cli.Hint(errors.New("--tune is for one GPU"), "tune the layers for every GPU before: shadercache tune --device "+o.Device)
	case f.Tune && f.Server != "" && f.Server != client.Off:
		return errors.New("--tune is for a GPU of this process: a server uses what was tuned in its cache directory")
	}
	return nil
}

// networkDevice is where the network runs: a GPU of this process, several, or a server's.
type networkDevice struct {
	job.Device
	plan  conv2d.DevicePlanOptions
	close func() error

	counts func() error // adds to the result what its cache did in this run
}

func (o *options) runNetwork(f networkFlags) (r *networkResult, err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	start := time.Now()
	c, err := o.dialServer(ctx, f.Server)
	if err != nil {
		return nil, err
	}
	input := imaging.Pieces(imaging.Sample(), conv2d.SampleSide, f.Pictures)
	slots := executor.Options{SlotBytes: max(1<<16, 8*len(input)), SlotJobs: 4}
	r = &networkResult{Pictures: f.Pictures}
	var d *networkDevice
	switch {
	case c != nil:
		d, err = r.served(ctx, c)
	case o.SeveralDevices():
		d, err = o.groupForNetwork(ctx, r, slots)
		start = time.Now()
	default:
		d, err = o.gpuForNetwork(r, f, slots)
		start = time.Now()
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.close()) }()
	return r, r.run(ctx, d, input, start)
}

// gpuForNetwork opens the GPU of this process.
func (o *options) gpuForNetwork(r *networkResult, f networkFlags, slots executor.Options) (*networkDevice, error) {
	g, err := o.OpenExecutor(slots)
	if err != nil {
		return nil, err
	}
	r.GPU, r.Driver = g.Name(), g.Driver()
	d := &networkDevice{Device: g.AsDevice(), close: g.Close}
	if f.Tune {
		d.plan.Tune = &tune.Options{Budget: f.Budget, Progress: func(done, _ int, _ tune.Candidate) {
			if done == 1 {
				r.Searches++
			}
		}}
	}
	d.counts = func() error {
		r.Compiles, r.DiskHits = g.Context.Counters().Compiles, g.Cache.Stats().DiskHits
		return nil
	}
	return d, nil
}

// run runs the network and compares its output with the CPU's.
func (r *networkResult) run(ctx context.Context, d *networkDevice, input []float32, start time.Time) error {
	layers := conv2d.SampleNetwork(r.Pictures)
	var shapes []conv2d.Shape
	var weights, bias []float32
	for _, l := range layers {
		shapes, weights, bias = append(shapes, l.Shape), append(weights, l.Weights...), append(bias, l.Bias...)
	}
	plan, err := conv2d.OpenPlan(ctx, d.Device, d.plan, shapes...)
	if err != nil {
		return err
	}
	defer plan.Release()
	if r.Uploaded, err = plan.SetWeights(ctx, 1, weights, bias); err != nil {
		return err
	}
	output := make([]float32, plan.Info().Output)
	took := make([]float64, 10)
	for i := range took {
		begin := time.Now()
		for i := range output {
			output[i] = math.Float32frombits(conv2d.Poison)
		}
		if err := plan.Run(ctx, input, output); err != nil {
			return err
		}
		took[i] = cli.Milliseconds(time.Since(begin))
		r.FirstResultMillis = cmp.Or(r.FirstResultMillis, cli.Milliseconds(time.Since(start)))
	}
	r.RunMillis = stats.Median(took)
	var tolerances []float64
	for i, c := range plan.Info().Layers {
		tolerances = append(tolerances, c.Tolerance)
		r.Layers = append(r.Layers, networkLayer{layers[i].Name, shapes[i].String(), c})
	}
	r.compare(conv2d.ReferenceLayers(layers, tolerances, input), output)
	return d.counts()
}

// compare compares the output with the CPU's.
func (r *networkResult) compare(want conv2d.Expected, output []float32) {
	r.Verified = conv2d.Compare(output, want, 1).OK()
	for i, v := range output {
		r.MaxError = max(r.MaxError, math.Abs(float64(v)-want.Values[i]))
	}
	if math.IsNaN(r.MaxError) {
		r.MaxError = math.MaxFloat64 // JSON has no NaN
	}
}

// Verdict returns an error where the output is wrong.
func (r *networkResult) Verdict() error {
	if !r.Verified {
		return cli.Hint(errors.New("the network's output on the GPU differs from the CPU's"), "shadercache tune finds the algorithm that is wrong; the driver may be broken")
	}
	return nil
}

func (r *networkResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s\n\n", r.GPU)
	for _, d := range r.Devices {
		fmt.Fprintf(w, "GPU %s\t%s\t%s\n", d.Device, cli.EscapeName(d.GPU), cli.Plural(d.Pictures, "picture"))
	}
	if len(r.Devices) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "layer\tshape\tbasis\talgorithm\n")
	for _, l := range r.Layers {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, l.Shape, l.Basis, l.Algorithm)
	}
	fmt.Fprintf(w, "\n%s, %d from disk, %s; first result after %.0f ms, then %.2f ms a run\n",
		cli.Plural(r.Compiles, "compile"), r.DiskHits, cli.Plural(r.Searches, "search"), r.FirstResultMillis, r.RunMillis)
	if r.Verified {
		fmt.Fprintf(w, "%d pictures, every number equals the CPU's within %.1e\n", r.Pictures, r.MaxError)
	}
}
