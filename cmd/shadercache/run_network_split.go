package main

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

// networkShare is what one of several GPUs computes.
type networkShare struct {
	Device   string `json:"device"`   // that chooses it with --device
	GPU      string `json:"gpu"`      // its name
	Pictures int    `json:"pictures"` // of a run
	Compiles uint64 `json:"compiles"` // programs that its driver compiled

	counters func() (compiles, diskHits uint64)
}

// runNetworkSplit runs the network on the GPUs of --device, which divide the pictures.
func (o *options) runNetworkSplit(ctx context.Context, f networkFlags, input []float32, slots executor.Options) (r *networkResult, err error) {
	g, err := o.OpenGroup(devices.Options{Device: shadercache.Options{Executor: slots}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	r = &networkResult{Pictures: f.Pictures, Uploaded: true}
	if err := r.addShares(ctx, g, f.Pictures); err != nil {
		return nil, err
	}
	r.GPU = g.Name() // of all that are open
	return r, r.runSplit(ctx, g, input)
}

// addShares adds what each member of the group computes.
func (r *networkResult) addShares(ctx context.Context, g *cli.Group, pictures int) error {
	shares := job.Shares(pictures, g.Len())
	for rank := range shares {
		member, err := g.Member(ctx, rank)
		if err != nil {
			return err
		}
		gpu, err := member.Local()
		if err != nil {
			return err
		}
		if rank == 0 {
			r.Driver = gpu.Context.Info().Driver
		}
		counters := func() (compiles, diskHits uint64) {
			return gpu.Context.Counters().Compiles, gpu.Cache.Stats().DiskHits
		}
		r.Devices = append(r.Devices, networkShare{Device: gpu.Context.Options().Device, GPU: gpu.Context.Info().GPU, Pictures: shares[rank].Len, counters: counters})
	}
	return nil
}

// runSplit runs the network and compares its output.
func (r *networkResult) runSplit(ctx context.Context, g *cli.Group, input []float32) error {
	layers := conv2d.SampleNetwork(r.Pictures)
	var shapes []conv2d.Shape
	for _, l := range layers {
		shapes = append(shapes, l.Shape)
	}
	start := time.Now()
	plan, err := conv2d.OpenPlan(ctx, g.Group, conv2d.DevicePlanOptions{}, shapes...)
	if err != nil {
		return err
	}
	defer plan.Release()
	weights, bias := weightsOf(layers)
	if _, err := plan.SetWeights(ctx, 1, weights, bias); err != nil {
		return err
	}
	output := make([]float32, plan.OutputLen())
	r.RunMillis, err = repeated(func() error {
		for i := range output {
			output[i] = math.Float32frombits(conv2d.Poison)
		}
		return plan.Run(ctx, input, output)
	}, func() { r.FirstResultMillis = cli.Milliseconds(time.Since(start)) })
	if err != nil {
		return err
	}
	r.compareLayers(layers, plan.Layers(), input, output)
	for i := range r.Devices {
		compiles, diskHits := r.Devices[i].counters()
		r.Devices[i].Compiles = compiles
		r.Compiles, r.DiskHits = r.Compiles+compiles, r.DiskHits+diskHits
	}
	return nil
}
