package main

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/internal/cli"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/server/status"
	"github.com/shadercache/shadercache/server/supervisor"
)

const serveWorkerName = "serve-worker"

// The descriptors that a worker inherits: the socket of clients, that of the status pages
// where there are any, and the link with the supervisor.
const firstInherited = 3

func newServeWorker(o *options) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:     serveWorkerName,
		Short:   "Serve as the worker of serve, which passes it open sockets",
		Example: "  shadercache serve",
		Hidden:  true,
		Args:    cobra.NoArgs,
	}
	f.add(cmd)
	cmd.Flags().Uint64Var(&f.generation, "generation", 1, "number of the worker")
	cmd.Flags().StringVar(&f.ended, "ended", "", "why the worker before it ended")
	cmd.RunE = func(*cobra.Command, []string) error { return o.serveWorker(f) }
	return cmd
}

// serveWorker serves until a signal, the end of the supervisor, idle exit, or a lost
// context.
func (o *options) serveWorker(f serveFlags) error {
	ctx, stop := cli.Interruptible()
	defer stop()
	l, err := socket.FromFile(os.NewFile(firstInherited, "socket"))
	if err != nil {
		return err
	}
	var pages net.Listener
	next := uintptr(firstInherited + 1)
	if f.status != "" {
		file := os.NewFile(next, "status")
		if pages, err = net.FileListener(file); err != nil {
			return err
		}
		file.Close()
		next++
	}
	link := supervisor.OpenLink(next)
	go func() {
		link.Ended()
		stop()
	}()
	// The server's watchdog notices a hang sooner; while a program is compiled the
	// executor makes no progress either.
	o.NoCompilerThreads = true // an idle server takes no CPU time
	g, err := o.OpenExecutor(executor.Options{Timeout: server.MaxCompileTime})
	if err != nil {
		return err
	}
	s := server.New(g.GPU, server.Options{
		IdleExit: f.idleExit, HangTime: f.hangTime, Generation: f.generation, Ended: f.ended,
		Version: cli.ReadVersion().Version, Tracer: o.Tracer(), Logger: o.Logger(),
	})
	if pages != nil {
		defer status.Serve(pages, s).Close()
	}
	link.Ready(g.Name())
	return o.endWorker(g, link, s.Serve(ctx, l))
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
