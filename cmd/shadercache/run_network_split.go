package main

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cmd/cli"
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

	gpu *shadercache.GPU
}

// groupForNetwork opens the GPUs of --device, which divide the pictures.
func (o *options) groupForNetwork(ctx context.Context, r *networkResult, slots executor.Options) (*networkDevice, error) {
	g, err := o.OpenGroup(devices.Options{Device: shadercache.Options{Executor: slots}})
	if err != nil {
		return nil, err
	}
	if err := r.addShares(ctx, g); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	r.GPU = g.Name() // of all that are open
	return &networkDevice{Device: g.Group, close: g.Close, counts: r.countShares}, nil
}

// addShares adds what each member of the group computes.
func (r *networkResult) addShares(ctx context.Context, g *cli.Group) error {
	shares := job.Shares(r.Pictures, g.Len())
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
		r.Devices = append(r.Devices, networkShare{Device: gpu.Context.Options().Device, GPU: gpu.Context.Info().GPU, Pictures: shares[rank].Len, gpu: gpu})
	}
	return nil
}

// countShares adds what the caches of the members did.
func (r *networkResult) countShares() error {
	for i, d := range r.Devices {
		compiles := d.gpu.Context.Counters().Compiles
		r.Devices[i].Compiles = compiles
		r.Compiles, r.DiskHits = r.Compiles+compiles, r.DiskHits+d.gpu.Cache.Stats().DiskHits
	}
	return nil
}
