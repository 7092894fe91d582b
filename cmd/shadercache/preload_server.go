package main

import (
	"errors"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/client"
)

// preloadServed does the work of preload in the server that --server names. It reports
// false where it names none, or none runs.
func (o *options) preloadServed(how preloadFlags, r *preloadResult, recordings int) (bool, error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	c, err := o.dialServer(ctx, how.Server)
	if c == nil || err != nil {
		return false, err
	}
	defer c.Close()
	if recordings > 0 {
		return true, errors.New("--server is for compute programs: recordings are compiled for the driver's own cache by this process")
	}
	r.Server = true
	indices := r.unique()
	progress := o.NewPieces(len(indices), "preloading")
	err = c.Preload(ctx, r.sources(indices), func(done client.Preloaded) {
		p := &r.Programs[indices[done.Index]]
		if p.err = done.Err; p.err == nil {
			if p.Origin = done.Program.Origin().String(); p.Origin == job.Memory.String() {
				p.Origin = job.Resident.String()
			}
			p.LoadMillis = cli.Milliseconds(done.Took)
		}
		progress.End(p.Name)
	})
	progress.Finish()
	if err != nil {
		return true, err
	}
	r.finish(how.Budget)
	return true, o.reportPrograms(how.reportFlags, r, r)
}
