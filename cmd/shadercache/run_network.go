package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/conv2d/tune"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/socket"
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

With --tune, layers that were not tuned on this driver are tuned first, for at
most --budget each. A second start finds programs and choices in the cache: 0
compiles, 0 searches.

The exit code is 1 when a result was wrong.`

// networkFlags are the flags of run network.
type networkFlags struct {
	serverFlag
	Pictures int           `flag:"pictures" help:"pictures of one run"`
	Tune     bool          `flag:"tune" help:"tune layers that were not tuned"`
	Budget   time.Duration `flag:"budget" help:"time to search for each layer"`
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
	Name      string  `json:"name"`
	Shape     string  `json:"shape"`
	Algorithm string  `json:"algorithm"`
	Basis     string  `json:"basis"` // of the choice: tuned, table (shipped with the command), or ranking
	Tolerance float64 `json:"tolerance"`
}

const maxPictures = 256

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
	if err := cli.RefuseUnused(cmd, f.Tune, "--tune", "budget"); err != nil {
		return err
	}
	if err := f.serverFlag.check(cmd); err != nil {
		return err
	}
	switch {
	case f.Tune && o.SeveralDevices():
		return cli.Hint(errors.New("--tune is for one GPU"), "tune the layers for every GPU before: shadercache tune --device "+o.Device)
	case f.Tune && f.Server != "" && f.Server != socket.Off:
		return errors.New("--tune is for a GPU of this process: a server uses what was tuned in its cache directory")
	case f.Pictures < 1 || f.Pictures > maxPictures:
		return fmt.Errorf("--pictures must be 1 to %d", maxPictures)
	}
	return cli.CheckBudget(f.Budget)
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
	if c != nil {
		defer c.Close()
		r = &networkResult{GPU: c.Welcome().Device, Pictures: f.Pictures, Server: true}
		return r, r.runRemote(ctx, c, f, input, start)
	}
	slots := executor.Options{SlotBytes: max(1<<16, 8*len(input)), SlotJobs: 4}
	if o.SeveralDevices() {
		return o.runNetworkSplit(ctx, f, input, slots)
	}
	g, err := o.OpenExecutor(slots)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r = &networkResult{GPU: g.Name(), Driver: g.Driver(), Pictures: f.Pictures}
	return r, r.run(ctx, g, f, input)
}

func (r *networkResult) run(ctx context.Context, g *cli.GPU, f networkFlags, input []float32) error {
	var plan conv2d.PlanOptions
	if f.Tune {
		plan.Tune = &tune.Options{Budget: f.Budget, Progress: func(done, _ int, _ tune.Candidate) {
			if done == 1 {
				r.Searches++
			}
		}}
	}
	start := time.Now()
	n, err := conv2d.NewNetwork(ctx, g.Executor, g.Cache, conv2d.SampleNetwork(f.Pictures), plan)
	if err != nil {
		return err
	}
	defer n.Release()
	r.Uploaded = true
	output := make([]float32, n.OutputLen())
	r.RunMillis, err = repeated(func() error {
		for i := range output {
			output[i] = math.Float32frombits(conv2d.Poison)
		}
		return runOnce(ctx, g.Executor, n, input, output)
	}, func() { r.FirstResultMillis = cli.Milliseconds(time.Since(start)) })
	if err != nil {
		return err
	}
	for i, p := range n.Plans() {
		r.Layers = append(r.Layers, networkLayer{
			Name:      conv2d.SampleNetwork(1)[i].Name,
			Shape:     p.Shape().String(),
			Algorithm: p.Choice().String(),
			Basis:     string(p.Basis()),
			Tolerance: p.Tolerance(),
		})
	}
	r.compare(n.Reference(input), output)
	r.Compiles, r.DiskHits = g.Context.Counters().Compiles, g.Cache.Stats().DiskHits
	return nil
}

// repeated runs fn ten times, calls first after the first time, and returns the median in
// milliseconds.
func repeated(fn func() error, first func()) (median float64, err error) {
	var took []float64
	for range 10 {
		begin := time.Now()
		if err := fn(); err != nil {
			return 0, err
		}
		if took = append(took, cli.Milliseconds(time.Since(begin))); len(took) == 1 {
			first()
		}
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

// runOnce runs the network and waits for its output.
func runOnce(ctx context.Context, e *executor.Executor, n *conv2d.Network, input, output []float32) error {
	job, err := n.Job(input, output)
	if err != nil {
		return err
	}
	pending, err := e.Submit(ctx, job)
	if err != nil {
		return err
	}
	defer pending.Release()
	return pending.Wait(ctx)
}

// compareLayers adds the layers and compares the output with that of the CPU.
func (r *networkResult) compareLayers(layers []conv2d.Layer, chosen []job.LayerChoice, input, output []float32) {
	var tolerances []float64
	for i, c := range chosen {
		tolerances = append(tolerances, c.Tolerance)
		r.Layers = append(r.Layers, networkLayer{layers[i].Name, layers[i].Shape.String(), c.Algorithm, c.Basis, c.Tolerance})
	}
	r.compare(conv2d.ReferenceLayers(layers, tolerances, input), output)
}

// weightsOf returns the weights and the bias of all layers, one after the other.
func weightsOf(layers []conv2d.Layer) (weights, bias []float32) {
	for _, l := range layers {
		weights = append(weights, l.Weights...)
		bias = append(bias, l.Bias...)
	}
	return weights, bias
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
