package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"image"
	"math"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/socket"
)

// addServerFlag adds --server to a command.
func addServerFlag(cmd *cobra.Command, value *string) {
	cmd.Flags().StringVar(value, "server", os.Getenv(socket.EnvPath),
		"use the server at this socket; auto: where one runs; start: start one where none runs (default $SHADERCACHE_SERVER, else off)")
	cmd.Flags().Lookup("server").DefValue = "" // the help does not depend on the environment
	cli.Complete(cmd, "server", socket.Auto, socket.Start, socket.Off)
}

// dialServer connects to the server that --server names. It returns nil where it names
// none, where it is auto and none runs, and where it is start and none can be started.
func (o *options) dialServer(ctx context.Context, name string) (*client.Client, error) {
	if err := socket.CheckName("--server or $SHADERCACHE_SERVER", name); err != nil {
		return nil, err
	}
	dialed := client.Options{Path: name, Name: "shadercache run"}
	switch name {
	case "", socket.Off:
		return nil, nil
	case socket.Auto, socket.Start:
		dialed.Path = userSocket()
	}
	var c *client.Client
	var err error
	if name == socket.Start {
		c, err = client.DialOrStart(ctx, dialed, client.Start{})
	} else {
		c, err = client.Dial(ctx, dialed)
	}
	switch {
	case err == nil:
		return c, nil
	case ctx.Err() != nil:
		return nil, err
	case name == socket.Auto && errors.Is(err, client.ErrNoServer):
		o.Logger().Debug("no server is used", "reason", err)
		return nil, nil
	case name == socket.Auto || name == socket.Start:
		o.Logger().Warn("no server is used", "reason", err)
		return nil, nil
	case errors.Is(err, client.ErrNoServer):
		err = cli.Hint(err, "start one with shadercache serve --socket "+name+", or use --server auto")
	}
	return nil, err
}

// userSocket returns the socket of the user's server: that of the environment where it
// names one.
func userSocket() string {
	if path, err := socket.DefaultPath(); err == nil {
		return path
	}
	return socket.UserPath()
}

// serverStatus returns the state of a client's server.
func serverStatus(ctx context.Context, c *client.Client) (status server.Status, err error) {
	data, err := c.Status(ctx)
	if err == nil {
		err = json.Unmarshal(data, &status)
	}
	return status, err
}

// serverConvolver computes convolutions in a server, as an imaging.Convolver.
type serverConvolver struct {
	c      *client.Client
	result *runResult
	start  time.Time
}

// Conv2D computes a convolution.
func (r *serverConvolver) Conv2D(ctx context.Context, p conv2d.Problem, input, weights, bias []float32) ([]float32, error) {
	start := time.Now()
	plan, err := r.c.NewExactPlan(ctx, p.Shape().String())
	if err != nil {
		return nil, err
	}
	defer plan.Release()
	planned := time.Since(start)
	if _, err := plan.SetWeights(ctx, 1, float32Bytes(weights), float32Bytes(bias)); err != nil {
		return nil, err
	}
	output := make([]byte, 4*plan.OutputLen())
	start = time.Now()
	if err := plan.Run(ctx, float32Bytes(input), output); err != nil {
		return nil, err
	}
	r.add(plan, planned, time.Since(start))
	return bytesFloat32(output), nil
}

// add adds the programs of a plan that were not used before.
func (r *serverConvolver) add(plan *client.Plan, planned, ran time.Duration) {
	t := conv2d.Timing{Plan: planned, Run: ran}
	names, origins := plan.Programs()
	for i, name := range names {
		used := conv2d.ProgramOrigin{Name: name}
		for _, origin := range []cache.Origin{cache.Compiled, cache.Disk, cache.Memory, cache.Resident} {
			if origin.String() == origins[i] {
				used.Origin = origin
			}
		}
		t.Programs = append(t.Programs, used)
	}
	if len(r.result.Programs) == 0 {
		r.result.TimeToFirstResultMs = cli.Milliseconds(time.Since(r.start))
		r.result.ready = time.Since(r.start) - planned - ran
	}
	first := r.result.TimeToFirstResultMs
	r.result.addPrograms(t)
	r.result.TimeToFirstResultMs = first
}

// filterRemote is filter with a server.
func filterRemote(ctx context.Context, c *client.Client, start time.Time, picture image.Image, filters []imaging.Filter) (*runResult, image.Image, error) {
	r := &runResult{Server: true, GPU: c.Welcome().Device, Verified: true, pixels: picture.Bounds().Size()}
	before, err := serverStatus(ctx, c)
	if err != nil {
		return r, nil, err
	}
	r.Driver, r.MemoryOnly, r.DriverCache = before.Driver, before.Cache.MemoryOnly, "the server's"
	convolver := &serverConvolver{c, r, start}
	var pictures []*image.NRGBA
	for _, f := range filters {
		filtered, err := imaging.Apply(ctx, convolver, picture, f)
		if err != nil {
			r.Verified = !errors.As(err, new(*conv2d.MismatchError))
			return r, nil, err
		}
		pictures = append(pictures, filtered.Picture)
	}
	after, err := serverStatus(ctx, c)
	r.Compiles, r.DiskHits = after.Cache.Compiles-before.Cache.Compiles, after.Cache.DiskHits-before.Cache.DiskHits
	return r, imaging.Sheet(pictures), err
}

// runRemote runs the sample network in a server. The plan has a name, so that a later run
// finds its programs and weights.
func (r *networkResult) runRemote(ctx context.Context, c *client.Client, f networkFlags, input []float32, start time.Time) error {
	layers := conv2d.SampleNetwork(f.pictures)
	var specs []string
	var weights, bias []byte
	for _, l := range layers {
		specs = append(specs, l.Shape.String())
		weights = append(weights, float32Bytes(l.Weights)...)
		bias = append(bias, float32Bytes(l.Bias)...)
	}
	before, err := serverStatus(ctx, c)
	if err != nil {
		return err
	}
	plan, err := c.NamedPlan(ctx, "shadercache sample network\n"+specs[0], specs...)
	if err != nil {
		return err
	}
	defer plan.Release()
	if r.Uploaded, err = plan.SetWeights(ctx, 1, weights, bias); err != nil {
		return err
	}
	output := make([]byte, 4*plan.OutputLen())
	took, err := repeated(func() error {
		for i := range output {
			output[i] = 0xFF
		}
		return plan.Run(ctx, float32Bytes(input), output)
	}, func() { r.FirstResultMillis = cli.Milliseconds(time.Since(start)) })
	if err != nil {
		return err
	}
	r.RunMillis = took
	chosen, err := plan.Layers()
	if err != nil {
		return err
	}
	var tolerances []float64
	for i, l := range chosen {
		tolerances = append(tolerances, l.Tolerance)
		r.Layers = append(r.Layers, networkLayer{layers[i].Name, specs[i], l.Algorithm, l.Basis, l.Tolerance})
	}
	r.compare(conv2d.ReferenceLayers(layers, tolerances, input), bytesFloat32(output))
	after, err := serverStatus(ctx, c)
	r.Compiles, r.DiskHits = after.Cache.Compiles-before.Cache.Compiles, after.Cache.DiskHits-before.Cache.DiskHits
	r.Driver = after.Driver
	return err
}

// float32Bytes returns values as a client sends them, nil for none.
func float32Bytes(values []float32) []byte {
	if len(values) == 0 {
		return nil
	}
	b := make([]byte, 4*len(values))
	for i, v := range values {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
	}
	return b
}

func bytesFloat32(b []byte) []float32 {
	values := make([]float32, len(b)/4)
	for i := range values {
		values[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return values
}
