package main

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/host"
	"github.com/shadercache/shadercache/shader"
)

const serveWorkerName = "serve-worker"

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

// deviceUUID returns the UUID of the device of --device, or "" where the driver has none.
func (o *options) deviceUUID() string {
	lines, err := o.ListDevices()
	if err != nil {
		return "" // opening the context returns the reason
	}
	return lines[0].UUID
}

// serveWorker serves until a signal, the end of the supervisor, idle exit, or a lost
// context, whose thread may never return from the driver.
func (o *options) serveWorker(f workerFlags) error {
	ctx, stop := cli.Interruptible()
	defer stop()
	g, err := o.openWorker(f)
	if err != nil {
		return err
	}
	w := host.Worker{Number: f.Number, Devices: f.Devices, Generation: f.Generation, Ended: f.Ended, IdleExit: f.IdleExit, Pages: f.Status}
	options := server.Options{
		HangTime: f.HangTime, Device: server.Device{UUID: o.deviceUUID()},
		Version: cli.ReadVersion().Version, Tracer: o.Tracer(), Logger: o.Logger(),
	}
	go keepRecorded(flushInterval, g.Cache)
	err = host.Work(ctx, w, g.Name(), options, func(options server.Options) *server.Server {
		return server.New(g.Context, g.Cache, g.Executor, options)
	})
	if errors.As(err, new(*server.LostError)) {
		flushWithin(lastFlushTime, g.Cache)
		o.EndTrace()
		os.Exit(cli.ExitFailed)
	}
	return errors.Join(err, g.Close())
}

// Prunes of other processes go by last uses, which are known to the hour. The supervisor kills a
// worker that has not ended 2 s after a loss.
const (
	flushInterval = time.Hour
	lastFlushTime = time.Second
)

// keepRecorded has a cache record what it did now and then, until it is closed. Other errors the
// cache logs.
func keepRecorded(interval time.Duration, c *cache.Cache) {
	for range time.Tick(interval) {
		if errors.Is(c.Flush(), shader.ErrClosed) {
			return
		}
	}
}

// flushWithin has a cache record what it did. It does not wait for longer than limit: after a hang
// what was not stored yet waits for a thread that does not return.
func flushWithin(limit time.Duration, c *cache.Cache) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	go func() {
		_ = c.Flush() // logged by the cache
		cancel()
	}()
	<-ctx.Done()
}

// shareTime is how long the worker of one device waits for another one that compiles the
// program that it needs, and makes no progress.
const shareTime = 5 * time.Second

// openWorker opens the GPU of a worker. Those of several devices compile a program once.
func (o *options) openWorker(f workerFlags) (*cli.GPU, error) {
	options := shadercache.Options{Executor: executor.Options{Timeout: server.MaxCompileTime, ErrorOfJob: true}}
	if f.Devices > 0 {
		options.Cache.ShareCompiles = shareTime
	}
	o.NoCompilerThreads = true // an idle server takes no CPU time
	// The server's watchdog notices a hang sooner; while a program is compiled the
	// executor makes no progress either.
	return o.Open(options)
}
