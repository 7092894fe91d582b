package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/server/supervisor"
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

SIGTERM ends the server when jobs that it has are done. With --idle-exit it ends
when there was no client for that time.

With --trace the worker writes the steps of its jobs when it ends.

--status serves /status (JSON), /healthz, /metrics (Prometheus) and
/debug/pprof/ over HTTP. Only this machine should reach that address: there is
no password.`

// serveFlags are the flags of serve.
type serveFlags struct {
	Socket   string        `flag:"socket" help:"path of the socket (default $SHADERCACHE_SERVER or the user's)"`
	Status   string        `flag:"status" help:"HTTP address of status pages, such as 127.0.0.1:9090"`
	IdleExit time.Duration `flag:"idle-exit" help:"end after that time without a client (default never)"`
	HangTime time.Duration `flag:"hang-time" help:"time after which a GPU that completes nothing is given up"`

	trace []string // arguments of a worker
}

// newServeFlags returns the flags with their defaults.
func newServeFlags() serveFlags { return serveFlags{HangTime: 10 * time.Second} }

// serveResult is what serve prints when clients can connect.
type serveResult struct {
	Socket  string        `json:"socket"`
	GPU     string        `json:"gpu"`     // of the first device that serves
	Status  string        `json:"status"`  // address of the status pages; empty: none
	Devices []serveDevice `json:"devices"` // in the order of --device
}

type serveDevice struct {
	Number int    `json:"number"` // in the server, from 0
	Device string `json:"device"` // index or UUID, as --device has it; "" = the first that works
	GPU    string `json:"gpu"`    // its name; "" = it does not serve
	Error  string `json:"error"`  // why it does not serve; "" where it does
}

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
			if f.IdleExit < 0 || f.HangTime <= 0 {
				return errors.New("--idle-exit and --hang-time are times above 0, such as 10s")
			}
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
	l, err := f.listener(handedOver)
	if err != nil {
		return err
	}
	defer l.Close()
	f.trace = o.HandTrace()
	if len(names) > 1 {
		return o.serveSeveral(ctx, l, f, names)
	}
	if len(names) == 1 {
		o.Device = names[0]
	}
	return o.serveOne(ctx, l, f)
}

// serveOne runs the supervisor of a worker that accepts clients itself.
func (o *options) serveOne(ctx context.Context, l *socket.Listener, f serveFlags) error {
	files, result, err := f.inherited(l)
	if err != nil {
		return err
	}
	defer func() {
		for _, file := range files {
			file.Close()
		}
	}()
	err = supervisor.Run(ctx, supervisor.Options{
		Files: files, Logger: o.Logger(),
		Command: func(generation uint64, ended string) (*exec.Cmd, error) { return o.workerCommand(f, generation, ended) },
		Ready: func(gpu string) {
			result.GPU, result.Devices = gpu, []serveDevice{{Device: o.Device, GPU: gpu}}
			_ = o.Result(result, result.Print)
		},
	})
	return hintOfWorker(err)
}

func hintOfWorker(err error) error {
	if errors.Is(err, supervisor.ErrWorker) {
		return cli.Hint(err, "the message above says why; shadercache doctor examines the driver")
	}
	return err
}

// listener returns the socket that a client or a service manager passed, or binds one.
func (f *serveFlags) listener(handedOver bool) (*socket.Listener, error) {
	if handedOver {
		return socket.Taken()
	}
	l, err := socket.Inherited()
	if l != nil || err != nil {
		return l, err
	}
	path := f.Socket
	if path == "" {
		if path, err = socket.DefaultPath(); errors.Is(err, socket.ErrOff) {
			path, err = socket.UserPath(), nil // off is for clients
		}
		if err != nil {
			return nil, err
		}
	}
	l, err = socket.Listen(path)
	switch {
	case errors.Is(err, socket.ErrRunning):
		return nil, cli.Hint(err, "use that one, or give this one another --socket")
	case errors.Is(err, socket.ErrUnsafe):
		return nil, cli.Hint(err, "make the directory yours alone (chmod 700), or give --socket another one")
	}
	return l, err
}

// inherited returns the sockets of workers: that of clients, and that of the status pages
// where there are any.
func (f *serveFlags) inherited(l *socket.Listener) ([]*os.File, *serveResult, error) {
	result := &serveResult{Socket: l.Path()}
	file, err := l.File()
	if err != nil || f.Status == "" {
		return []*os.File{file}, result, err
	}
	pages, err := f.listenForPages(result)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	defer pages.Close()
	pagesFile, err := pages.(*net.TCPListener).File()
	return []*os.File{file, pagesFile}, result, err
}

// listenForPages returns the socket of the status pages, and writes its address to result.
func (f *serveFlags) listenForPages(result *serveResult) (net.Listener, error) {
	pages, err := net.Listen("tcp", f.Status)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("--status: %w", err), "give it a free address, such as 127.0.0.1:0")
	}
	result.Status = "http://" + pages.Addr().String()
	return pages, nil
}

func (o *options) workerCommand(f serveFlags, generation uint64, ended string) (*exec.Cmd, error) {
	return o.ChildCommand(context.Background(), o.Dir, append([]string{serveWorkerName}, f.trace...),
		"--idle-exit", f.IdleExit.String(), "--hang-time", f.HangTime.String(), "--status", f.Status,
		"--generation", strconv.FormatUint(generation, 10), "--ended", ended)
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
	if r.Status != "" {
		fmt.Fprintf(w, "status on %s/status\n", r.Status)
	}
}
