package cli

import (
	"context"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
)

// Group is several open GPUs whose caches are stored when the process is interrupted.
type Group struct{ *devices.Group }

// OpenGroup opens the GPUs that the global flags choose as one device. It returns when the
// first is open.
func (o *Options) OpenGroup(options devices.Options) (*Group, error) {
	var err error
	if options.Device, err = o.severalGPUs(options.Device); err != nil {
		return nil, err
	}
	opened, err := devices.Open(options)
	if err != nil {
		return nil, err
	}
	g := &Group{opened}
	for rank := range g.Len() {
		go g.watch(rank)
	}
	return g, nil
}

// OpenAll opens the GPUs that the global flags choose. It returns when the first is open.
func (o *Options) OpenAll(options shadercache.Options) (*shadercache.GPUs, error) {
	options, err := o.severalGPUs(options)
	if err != nil {
		return nil, err
	}
	return shadercache.OpenAll(options)
}

// severalGPUs returns options with those of the global flags, for several GPUs.
func (o *Options) severalGPUs(options shadercache.Options) (shadercache.Options, error) {
	names, err := o.DeviceNames()
	options = o.frontDoor(options)
	options.Context.Device, options.Devices = "", names
	return options, err
}

// watch has the cache of a member stored when the process is interrupted.
func (g *Group) watch(rank int) {
	member, err := g.Member(context.Background(), rank)
	if err != nil {
		return // its error is that of its use
	}
	if gpu, err := member.Local(); err == nil {
		ClearMarksOnInterrupt(gpu.Cache)
	}
}
