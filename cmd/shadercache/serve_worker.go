package main

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/placement"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/server/status"
	"github.com/shadercache/shadercache/server/supervisor"
)

const serveWorkerName = "serve-worker"

// The first descriptor that a worker inherits. A worker that accepts clients itself has the
// socket of clients there, then that of the status pages where there are any, then the link
// with the supervisor; a worker of several has the link alone.
const firstInherited = 3

// workerFlags are the flags of a worker.
type workerFlags struct {
	serveFlags
	Generation uint64 `flag:"generation" help:"number of the worker"`
	Ended      string `flag:"ended" help:"why the worker before it ended"`
	Number     int    `flag:"number" help:"number of its device"`
	Devices    int    `flag:"devices" help:"number of devices with a worker each; 0: it accepts clients itself"`
}

func (o *options) serveWorkerCommand() cli.Command {
	f := workerFlags{serveFlags: newServeFlags(), Generation: 1}
	return cli.Command{
		Use:     serveWorkerName + " [flags]",
		Short:   "Serve as the worker of serve, which passes it open sockets",
		Example: "  shadercache serve",
		Hidden:  true,
		Flags:   &f,
		Run:     func(*cobra.Command, []string) (cli.Result, error) { return nil, o.serveWorker(f) },
	}
}

// workerEnds are what a worker serves by.
type workerEnds struct {
	link    *supervisor.Link
	clients server.Listener
	pages   net.Listener      // nil: none
	placed  *placement.Worker // nil: it accepts clients itself
	over    func()            // waits until the supervisor has ended
}

// inheritedEnds returns the ends of a worker that accepts clients itself.
func (f *workerFlags) inheritedEnds() (*workerEnds, error) {
	l, err := socket.FromFile(os.NewFile(firstInherited, "socket"))
	if err != nil {
		return nil, err
	}
	e, next := &workerEnds{clients: l}, uintptr(firstInherited+1)
	if f.Status != "" {
		file := os.NewFile(next, "status")
		if e.pages, err = net.FileListener(file); err != nil {
			return nil, err
		}
		file.Close()
		next++
	}
	if e.link, err = supervisor.OpenLink(next); err != nil {
		return nil, err
	}
	e.over = e.link.Ended
	return e, nil
}

// placedEnds returns the ends of one worker of several.
func (o *options) placedEnds(f *workerFlags) (*workerEnds, error) {
	link, err := supervisor.OpenLink(firstInherited)
	if err != nil {
		return nil, err
	}
	w, err := placement.NewWorker(link, o.deviceUUID())
	if err != nil {
		return nil, err
	}
	e := &workerEnds{link: link, clients: w, placed: w, over: func() { <-w.Over() }}
	if f.Status != "" {
		e.pages = w.Pages()
	}
	return e, nil
}

// deviceUUID returns the UUID of the device of --device, or "" where the driver has none.
func (o *options) deviceUUID() string {
	list, err := glctx.Devices()
	if err != nil {
		return "" // opening the context returns the reason
	}
	d, err := glctx.FindDevice(list, o.Device)
	if err != nil {
		return ""
	}
	return d.UUID
}

// serveWorker serves until a signal, the end of the supervisor, idle exit, or a lost
// context.
func (o *options) serveWorker(f workerFlags) error {
	ctx, stop := cli.Interruptible()
	defer stop()
	g, err := o.openWorker(f)
	if err != nil {
		return err
	}
	ends, err := o.workerEnds(&f)
	if err != nil {
		return errors.Join(err, g.Close())
	}
	go func() {
		ends.over()
		stop()
	}()
	s := server.New(g.Context, g.Cache, g.Executor, o.serverOptions(f, ends))
	if ends.pages != nil {
		defer status.Serve(ends.pages, f.Status, status.Of(s)).Close()
	}
	ends.link.Ready(g.Name())
	return o.endWorker(g, ends.link, s.Serve(ctx, ends.clients))
}

// shareTime is how long the worker of one device waits for another one that compiles the
// program that it needs, and makes no progress.
const shareTime = 5 * time.Second

// openWorker opens the GPU of a worker. Those of several devices compile a program once.
func (o *options) openWorker(f workerFlags) (*cli.GPU, error) {
	var programs cache.Options
	if f.Devices > 0 {
		programs.ShareCompiles = shareTime
	}
	o.NoCompilerThreads = true // an idle server takes no CPU time
	// The server's watchdog notices a hang sooner; while a program is compiled the
	// executor makes no progress either.
	return o.OpenBoth(executor.Options{Timeout: server.MaxCompileTime}, programs)
}

func (o *options) workerEnds(f *workerFlags) (*workerEnds, error) {
	if f.Devices > 0 {
		return o.placedEnds(f)
	}
	return f.inheritedEnds()
}

func (o *options) serverOptions(f workerFlags, ends *workerEnds) server.Options {
	options := server.Options{
		IdleExit: f.IdleExit, HangTime: f.HangTime, Generation: f.Generation, Ended: f.Ended,
		Device:  server.Device{Number: f.Number, Count: f.Devices, UUID: o.deviceUUID()},
		Version: cli.ReadVersion().Version, Tracer: o.Tracer(), Logger: o.Logger(),
	}
	if ends.placed != nil {
		options.Names, options.SessionEnded = ends.placed, ends.placed.SessionEnded
	}
	return options
}

// endWorker closes the GPU, unless the context is lost: then its thread may never return
// from the driver.
func (o *options) endWorker(g *cli.GPU, link *supervisor.Link, err error) error {
	if lost, ok := errors.AsType[*server.LostError](err); ok {
		link.Lost(lost.Reason)
		o.EndTrace()
		os.Exit(cli.ExitFailed)
	}
	if errors.Is(err, server.ErrIdle) || errors.Is(err, context.Canceled) {
		err = nil
	}
	return errors.Join(err, g.Close())
}
