//go:build linux

// Package host keeps a server running on a socket, as the command serve does. The process that
// calls [Serve] has the socket, and no GL context. It starts a process for each GPU, a worker,
// which calls [Work], and another one where a worker crashed or its context was lost: clients
// can connect at any time.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"time"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/supervisor"
)

// Errors of [Serve], wrapped.
var (
	ErrRunning = socket.ErrRunning          // another server has the socket
	ErrUnsafe  = socket.ErrUnsafe           // others could change the socket's directory
	ErrPages   = errors.New("status pages") // their address is taken, or none
	ErrWorker  = supervisor.ErrWorker       // workers end before they serve
)

// Options configure [Serve].
type Options struct {
	// Socket is the path of the socket. Default: $SHADERCACHE_SERVER where that is a path,
	// else the user's. A socket that a service manager passed is used instead.
	Socket string

	// HandedOver: a client has bound the socket, and passed it with its lock as the descriptors
	// 3 and 4.
	HandedOver bool

	// Pages is the HTTP address of the status pages. Default: there are none.
	Pages string

	// IdleExit is the time without a client after which Serve returns. Default: never.
	IdleExit time.Duration

	// Devices are the GPUs, as --device has them. One worker accepts clients itself; with
	// several, each client is placed on one of them.
	Devices []string

	// Command returns the command of a process that calls Work.
	Command func(Worker) (*exec.Cmd, error)

	// Ready is called once, when clients can connect.
	Ready func(Serving)

	// Logger receives the end of workers. Default: nothing is logged.
	Logger *slog.Logger
}

// Serving is a server that clients can connect to.
type Serving struct {
	Socket  string   `json:"socket"`
	GPU     string   `json:"gpu"`     // of the first device that serves
	Pages   string   `json:"status"`  // address of the status pages; empty: none
	Devices []Device `json:"devices"` // in the order of --device
}

// Device is one GPU of a server.
type Device struct {
	Number int    `json:"number"` // in the server, from 0
	Device string `json:"device"` // index or UUID, as --device has it; "" = the first that works
	GPU    string `json:"gpu"`    // its name; "" = it does not serve
	Error  string `json:"error"`  // why it does not serve; "" where it does
}

// Serve serves until ctx ends, there was no client for IdleExit, or workers end before they
// serve.
func Serve(ctx context.Context, o Options) error {
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	l, err := o.listen()
	if err != nil {
		return err
	}
	defer l.Close()
	serving := Serving{Socket: l.Path()}
	for i, name := range o.Devices {
		serving.Devices = append(serving.Devices, Device{Number: i, Device: name})
	}
	var pages net.Listener
	if o.Pages != "" {
		if pages, err = net.Listen("tcp", o.Pages); err != nil {
			return fmt.Errorf("%w: %w", ErrPages, err)
		}
		defer pages.Close()
		serving.Pages = "http://" + pages.Addr().String()
	}
	if len(o.Devices) > 1 {
		return o.serveSeveral(ctx, l, pages, serving)
	}
	return o.serveOne(ctx, l, pages, serving)
}

// listen returns the socket that a client or a service manager passed, or binds one.
func (o *Options) listen() (*socket.Listener, error) {
	if o.HandedOver {
		return socket.Taken()
	}
	l, err := socket.Inherited()
	if l != nil || err != nil {
		return l, err
	}
	path := o.Socket
	if path == "" {
		if path, err = socket.PathOrUsers(); err != nil { // off is for clients
			return nil, err
		}
	}
	return socket.Listen(path)
}

// serveOne runs the supervisor of a worker that accepts clients itself: it inherits the socket
// of clients, then that of the status pages where there are any.
func (o *Options) serveOne(ctx context.Context, l *socket.Listener, pages net.Listener, serving Serving) error {
	file, err := l.File()
	if err != nil {
		return err
	}
	defer file.Close()
	_ = l.UnixListener.Close() // file is the only one of this process: the supervisor closes it
	files := []*os.File{file}
	if pages != nil {
		file, err := pages.(*net.TCPListener).File()
		if err != nil {
			return err
		}
		defer file.Close()
		files = append(files, file)
	}
	return supervisor.Run(ctx, supervisor.Options{
		Files: files, Logger: o.Logger,
		Command: func(generation uint64, ended string) (*exec.Cmd, error) {
			return o.Command(Worker{Generation: generation, Ended: ended, IdleExit: o.IdleExit, Pages: o.Pages})
		},
		Ready: func(gpu string) {
			serving.GPU, serving.Devices[0].GPU = gpu, gpu
			o.Ready(serving)
		},
	})
}
