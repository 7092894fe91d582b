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
	socket, status     string
	idleExit, hangTime time.Duration

	handedOver bool // a client has bound the socket and started this server

	generation uint64 // of a worker
	ended      string
	trace      []string // arguments of a worker
	number     int      // of a worker's device
	devices    int      // with a worker each; 0: one, which accepts clients itself
}

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

func (f *serveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.socket, "socket", "", "path of the socket (default $SHADERCACHE_SERVER or the user's)")
	flags.StringVar(&f.status, "status", "", "HTTP address of status pages, such as 127.0.0.1:9090")
	flags.DurationVar(&f.idleExit, "idle-exit", 0, "end after that time without a client (default never)")
	flags.DurationVar(&f.hangTime, "hang-time", 10*time.Second, "time after which a GPU that completes nothing is given up")
}

func newServe(o *options) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:                   "serve [--socket PATH] [--idle-exit TIME] [--hang-time TIME] [--status ADDRESS]",
		DisableFlagsInUseLine: true,
		Short:                 "Serve programs and the GPU to other processes",
		Long:                  serveUsage,
		Example:               "  shadercache serve --idle-exit 10m\n  shadercache serve --device all",
		Args:                  cli.UsageArgs(cli.NoArguments),
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.handedOver, "handed-over", false, "the socket and its lock are descriptors 3 and 4")
	_ = cmd.Flags().MarkHidden("handed-over")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if f.idleExit < 0 || f.hangTime <= 0 {
			return cli.Usage(cmd, errors.New("--idle-exit and --hang-time are times above 0, such as 10s"))
		}
		names, err := o.DeviceNames()
		if err != nil {
			return cli.Usage(cmd, err)
		}
		return o.serve(f, names)
	}
	return cli.ForSeveral(o.WithResult(cmd, serveResult{}))
}

// serve serves with the devices of --device: the default one, all, or some.
func (o *options) serve(f serveFlags, names []string) (err error) {
	ctx, stop := cli.Interruptible()
	defer stop()
	if o.Device == cli.AllDevices {
		if names, err = o.allDevices(ctx); err != nil {
			return err
		}
	}
	l, err := f.listener()
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
func (f *serveFlags) listener() (*socket.Listener, error) {
	if f.handedOver {
		return socket.Taken()
	}
	l, err := socket.Inherited()
	if l != nil || err != nil {
		return l, err
	}
	path := f.socket
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
	if err != nil || f.status == "" {
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
	pages, err := net.Listen("tcp", f.status)
	if err != nil {
		return nil, cli.Hint(fmt.Errorf("--status: %w", err), "give it a free address, such as 127.0.0.1:0")
	}
	result.Status = "http://" + pages.Addr().String()
	return pages, nil
}

func (o *options) workerCommand(f serveFlags, generation uint64, ended string) (*exec.Cmd, error) {
	return o.ChildCommand(context.Background(), o.Dir, append([]string{serveWorkerName}, f.trace...),
		"--idle-exit", f.idleExit.String(), "--hang-time", f.hangTime.String(), "--status", f.status,
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
