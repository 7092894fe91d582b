package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/server/host"
)

const serveUsage = `Keep an OpenGL context, its programs, weights and buffers for clients.

Clients connect through a unix socket and send jobs: a process that is a client
makes no context of its own, which takes tens of milliseconds. Only processes of
the same user are served. docs/protocol.md describes the protocol; clients are
in server/client (Go) and below server/clients/.

The socket is --socket, else $SHADERCACHE_SERVER, else shadercache/socket in
$XDG_RUNTIME_DIR, else in a directory of the user below /tmp. A socket that
systemd passes is used instead (socket activation).

The context is in a worker process. When the driver crashes, or nothing on the
GPU completes for --hang-time, another worker starts; clients get an error that
says so and connect again.

With --device 0,1 or --device all there is a worker for each GPU, and clients
have one socket: a session is placed on the GPU that it asks for, else on the
first of those with the fewest sessions. When one GPU fails, the sessions of the
others continue.

SIGTERM ends the server when jobs that it has are done. With --trace the worker
writes the steps of its jobs when it ends.

--status serves /status (JSON), /healthz, /metrics (Prometheus) and
/debug/pprof/ over HTTP. Only this machine should reach that address: there is
no password.`

// serveFlags are the flags of serve.
type serveFlags struct {
	Socket   string        `flag:"socket" help:"path of the socket (default $SHADERCACHE_SERVER or the user's)"`
	Status   string        `flag:"status" help:"HTTP address of status pages, such as 127.0.0.1:9090"`
	IdleExit time.Duration `flag:"idle-exit" help:"end after that time without a client (default never)" must:"at least 0"`
	HangTime time.Duration `flag:"hang-time" help:"time after which a GPU that completes nothing is given up" must:"above 0"`
}

// newServeFlags returns the flags with their defaults.
func newServeFlags() serveFlags { return serveFlags{HangTime: 10 * time.Second} }

// serveResult is what serve prints when clients can connect.
type serveResult struct{ host.Serving }

func (o *options) serveCommand() cli.Command {
	f := struct {
		serveFlags
		HandedOver bool `flag:"handed-over" help:"the socket and its lock are descriptors 3 and 4" hidden:"yes"` // a client has bound it and started this server
	}{serveFlags: newServeFlags()}
	var names []string
	return cli.Command{
		Use:     "serve [--socket PATH] [--idle-exit TIME] [--hang-time TIME] [--status ADDRESS]",
		Short:   "Serve programs and the GPU to other processes",
		Long:    serveUsage,
		Example: "  shadercache serve --idle-exit 10m\n  shadercache serve --device all",
		Flags:   &f, GPUs: cli.SeveralGPUs, Result: serveResult{},
		Check: func(*cobra.Command, []string) (err error) {
			names, err = o.DeviceNames()
			return err
		},
		Run: func(*cobra.Command, []string) (cli.Result, error) {
			return nil, o.serve(f.serveFlags, names, f.HandedOver)
		},
	}
}

// serve serves with the devices of --device: the default one, all, or some.
func (o *options) serve(f serveFlags, names []string, handedOver bool) (err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	if o.Device == cli.AllDevices {
		if names, err = o.allDevices(ctx); err != nil {
			return err
		}
	}
	if len(names) == 1 {
		o.Device = names[0]
	} else if len(names) == 0 {
		names = []string{o.Device}
	}
	trace := o.HandTrace()
	err = host.Serve(ctx, host.Options{
		Socket: f.Socket, HandedOver: handedOver, Pages: f.Status, IdleExit: f.IdleExit, Devices: names, Logger: o.Logger(),
		Command: func(w host.Worker) (*exec.Cmd, error) { return o.workerCommand(f.HangTime, names[w.Number], trace, w) },
		Ready: func(serving host.Serving) {
			r := &serveResult{serving}
			_ = o.Result(r, r.Print)
		},
	})
	switch {
	case errors.Is(err, host.ErrRunning):
		return cli.Hint(err, "use that one, or give this one another --socket")
	case errors.Is(err, host.ErrUnsafe):
		return cli.Hint(err, "make the directory yours alone (chmod 700), or give --socket another one")
	case errors.Is(err, host.ErrPages):
		return cli.Hint(err, "give it a free address, such as 127.0.0.1:0")
	case errors.Is(err, host.ErrWorker):
		return cli.Hint(err, "the message above says why; shadercache doctor examines the driver")
	}
	return err
}

// workerCommand returns the command of a worker for a device. trace has its arguments that ask
// for a trace.
func (o *options) workerCommand(hangTime time.Duration, device string, trace []string, w host.Worker) (*exec.Cmd, error) {
	if w.Devices > 0 && len(trace) > 0 {
		trace = []string{trace[0], numbered(trace[1], w.Number)}
	}
	cmd, err := o.ChildCommand(context.Background(), o.Dir, append([]string{serveWorkerName}, trace...),
		"--hang-time", hangTime.String(), "--idle-exit", w.IdleExit.String(), "--status", w.Pages,
		"--generation", strconv.FormatUint(w.Generation, 10), "--ended", w.Ended,
		"--number", strconv.Itoa(w.Number), "--devices", strconv.Itoa(w.Devices))
	if err == nil && device != "" { // the last --device counts
		cmd.Args = append(cmd.Args, "--device", device)
	}
	return cmd, err
}

// numbered returns the path of a device's own file: trace.1.json for trace.json.
func numbered(path string, number int) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "." + strconv.Itoa(number) + extension
}

func (r *serveResult) Print(w io.Writer) {
	if len(r.Devices) == 1 {
		fmt.Fprintf(w, "serving %s on %s\n", r.GPU, r.Socket)
	} else {
		fmt.Fprintf(w, "serving %d devices on %s\n", len(r.Devices), r.Socket)
		for _, d := range r.Devices {
			fmt.Fprintf(w, "device %d\t%s%s\n", d.Number, d.GPU, d.Error)
		}
	}
	if r.Pages != "" {
		fmt.Fprintf(w, "status on %s/status\n", r.Pages)
	}
}
