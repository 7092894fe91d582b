package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
)

// serverFlag is the flag of commands that a server may do the work of.
type serverFlag struct {
	Server string `flag:"server" help:"use the server at this socket; auto: where one runs; start: start one where none runs (default $SHADERCACHE_SERVER, else off)" shown:"" words:"auto start off"`
}

// newServerFlag returns the flag with the server of the environment, which the help does not show.
func newServerFlag() serverFlag { return serverFlag{os.Getenv(client.EnvPath)} }

// check makes --device, which chooses a GPU of this process, turn a server of the environment
// off; beside --server it is an error.
func (f *serverFlag) check(cmd *cobra.Command) error {
	if f.Server == "" || f.Server == client.Off || !cmd.Flags().Changed("device") {
		return nil
	}
	f.Server = client.Off
	if cmd.Flags().Changed("server") {
		return errors.New("--server has GPUs of its own: --device is for those of this process")
	}
	return nil
}

// dialServer connects to the server that --server names. It returns nil where it names
// none, where it is auto and none runs, and where it is start and none can be started.
func (o *options) dialServer(ctx context.Context, name string) (*client.Client, error) {
	if err := client.CheckName("--server or $SHADERCACHE_SERVER", name); err != nil {
		return nil, err
	}
	if name == "" || name == client.Off {
		return nil, nil
	}
	c, err := client.Reach(ctx, client.Options{Path: name, Name: "shadercache run"})
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, err
	case name == client.Auto && errors.Is(err, job.ErrNoServer):
		o.Logger().Debug("no server is used", "reason", err)
		return nil, nil
	case name == client.Auto || name == client.Start:
		o.Logger().Warn("no server is used", "reason", err)
		return nil, nil
	case errors.Is(err, client.ErrNoAnswer):
		err = cli.Hint(err, "it is stopped or hangs: end it and start it again, or use --server off")
	case errors.Is(err, job.ErrNoServer):
		err = cli.Hint(err, "start one with shadercache serve --socket "+name+", or use --server auto")
	}
	return nil, err
}

// serverStatus returns the state of a client's server.
func serverStatus(ctx context.Context, c *client.Client) (status server.Status, err error) {
	data, err := c.Status(ctx)
	if err == nil {
		err = json.Unmarshal(data, &status)
	}
	return status, err
}

// countServed returns the state of a client's server, and a function that sets what its cache
// has done since.
func countServed(ctx context.Context, c *client.Client, compiles, diskHits *uint64) (before server.Status, counts func() error, err error) {
	before, err = serverStatus(ctx, c)
	return before, func() error {
		after, err := serverStatus(ctx, c)
		*compiles, *diskHits = after.Cache.Compiles-before.Cache.Compiles, after.Cache.DiskHits-before.Cache.DiskHits
		return err
	}, err
}

// serverConvolver computes convolutions in a server, as an imaging.Convolver, by the same
// programs as a run without one.
type serverConvolver struct {
	c      *client.Client
	choice conv2d.Choice
	result *runResult
}

// Conv2D computes a convolution.
func (r *serverConvolver) Conv2D(ctx context.Context, p conv2d.Problem, input, weights, bias []float32) ([]float32, error) {
	t := conv2d.Timing{Shape: p.Shape(), Choice: r.choice}
	output := make([]float32, p.OutputLen())
	begin := time.Now()
	lap := func(d *time.Duration) { now := time.Now(); *d, begin = now.Sub(begin), now }
	plan, err := r.c.OpenPlan(ctx, "", true, conv2d.Layer{Shape: t.Shape, Choice: &r.choice}.Spec())
	if err != nil {
		return nil, err
	}
	defer plan.Release()
	lap(&t.Plan)
	if _, err := plan.SetWeights(ctx, 1, weights, bias); err != nil {
		return nil, err
	}
	lap(&t.Upload)
	if err := plan.Run(ctx, input, output); err != nil {
		return nil, err
	}
	lap(&t.Run)
	for _, p := range plan.Info().Programs {
		t.Programs = append(t.Programs, conv2d.ProgramOrigin{Name: p.Name, Origin: p.Origin})
	}
	r.result.addPrograms(t)
	return output, nil
}

// served is a server for run, to which the connection took connected.
func (r *runResult) served(ctx context.Context, c *client.Client, connected time.Duration, f runFlags) (*filterer, error) {
	if f.by != imaging.Buffers {
		return nil, fmt.Errorf("run: --path %s is for a run without a server, which filters through buffers", f.Path)
	}
	picture, err := f.load()
	if err != nil {
		return nil, err
	}
	before, counts, err := countServed(ctx, c, &r.Compiles, &r.DiskHits)
	if err != nil {
		return nil, err
	}
	r.Server, r.GPU, r.pixels, r.ready = true, c.Welcome().Device, picture.Bounds().Size(), connected
	r.Driver, r.MemoryOnly, r.DriverCache = before.Driver, before.Cache.MemoryOnly, "the server's"
	convolver := &serverConvolver{c, builtinFilters(), r}
	apply := func(filter imaging.Filter) (imaging.Result, error) {
		return imaging.Apply(ctx, convolver, picture, filter)
	}
	return &filterer{apply, counts, c.Close}, nil
}

// served is a server for the network. The plan has a name, so that a later run finds its
// programs and weights.
func (r *networkResult) served(ctx context.Context, c *client.Client) (*networkDevice, error) {
	before, counts, err := countServed(ctx, c, &r.Compiles, &r.DiskHits)
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	r.GPU, r.Driver, r.Server = c.Welcome().Device, before.Driver, true
	name := "shadercache sample network of " + cli.Plural(r.Pictures, "picture")
	return &networkDevice{Device: c, close: c.Close, counts: counts, plan: conv2d.DevicePlanOptions{Name: name}}, nil
}
