package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/client"
)

// checkServer returns an error for flags that mean nothing where a server compiles.
func (f *preloadFlags) checkServer(cmd *cobra.Command) error {
	return cli.RefuseUnused(cmd, f.Server == "" || f.Server == client.Off, "programs that this process compiles: a server has settings of its own",
		"jobs", "timeout", "memory", "no-isolate", "keep-sources", "retry-failed", "dir", "device")
}

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
