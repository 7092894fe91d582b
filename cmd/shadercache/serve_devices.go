package main

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/server/placement"
	"github.com/shadercache/shadercache/server/socket"
	"github.com/shadercache/shadercache/server/status"
	"github.com/shadercache/shadercache/server/supervisor"
)

// severalWorkers are the workers of several devices, each with its supervisor, in this process.
type severalWorkers struct {
	options *options
	flags   serveFlags
	placing *placement.Placement
	devices []string     // as --device has them
	result  *serveResult // its Devices are guarded by mu

	mu      sync.Mutex
	unknown int // devices that neither serve nor failed yet
}

// serveSeveral serves with a worker for each device until ctx ends, there was no client for
// --idle-exit, or no device is left.
func (o *options) serveSeveral(ctx context.Context, l *socket.Listener, f serveFlags, names []string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &severalWorkers{options: o, flags: f, result: &serveResult{Socket: l.Path()}, devices: names, unknown: len(names)}
	w.placing = placement.New(len(names), placement.Options{IdleExit: f.IdleExit, Logger: o.Logger()})
	for i, name := range names {
		w.result.Devices = append(w.result.Devices, serveDevice{Number: i, Device: name})
	}
	if f.Status != "" {
		pages, err := f.listenForPages(w.result)
		if err != nil {
			return err
		}
		defer status.Serve(pages, f.Status, w.pages()).Close()
	}
	failed := make(chan error, 1)
	go func() {
		failed <- w.run(ctx)
		stop()
	}()
	err := w.placing.Serve(ctx, l)
	stop()
	return errors.Join(err, hintOfWorker(<-failed))
}

// run supervises all workers. It returns nil when ctx ends, and an error when there are no
// workers any more.
func (w *severalWorkers) run(ctx context.Context) error {
	errs := make([]error, len(w.devices))
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() { errs[i] = w.supervise(ctx, i) })
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			return nil // it ran until the end
		}
	}
	return errors.Join(errs...)
}

// supervise keeps the worker of one device running. It returns nil when ctx ends, and why the
// device has no worker any more otherwise.
func (w *severalWorkers) supervise(ctx context.Context, number int) error {
	logger := w.options.Logger().With("device", number)
	err := supervisor.Run(ctx, supervisor.Options{
		Follower: w.placing.Device(number), Logger: logger,
		Command: func(generation uint64, ended string) (*exec.Cmd, error) {
			return w.command(number, generation, ended)
		},
		Ready: func(gpu string) { w.settle(number, gpu, "") },
	})
	if ctx.Err() != nil {
		return nil
	}
	if err == nil {
		err = errors.New("the worker was ended by a signal")
	}
	logger.Error("the device is not served any more", "error", err)
	w.placing.Device(number).Failed(err.Error())
	w.settle(number, "", err.Error())
	return err
}

// settle records whether a device serves, and prints the result when all are settled and one
// of them serves.
func (w *severalWorkers) settle(number int, gpu, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := &w.result.Devices[number]
	if w.unknown == 0 || d.GPU != "" || d.Error != "" {
		return // it served once
	}
	d.GPU, d.Error = gpu, reason
	if w.result.GPU == "" {
		w.result.GPU = gpu
	}
	if w.unknown--; w.unknown == 0 && w.result.GPU != "" {
		_ = w.options.Result(w.result, w.result.Print)
	}
}

// command returns the command of the worker of a device.
func (w *severalWorkers) command(number int, generation uint64, ended string) (*exec.Cmd, error) {
	f := w.flags
	f.IdleExit = 0 // the placement ends all together
	if len(f.trace) > 0 {
		f.trace = []string{f.trace[0], numbered(f.trace[1], number)}
	}
	cmd, err := w.options.workerCommand(f, generation, ended)
	if err == nil { // the last --device counts
		cmd.Args = append(cmd.Args, "--device", w.devices[number], "--number", strconv.Itoa(number), "--devices", strconv.Itoa(len(w.devices)))
	}
	return cmd, err
}

// numbered returns the path of a device's own file: trace.1.json for trace.json.
func numbered(path string, number int) string {
	extension := filepath.Ext(path)
	return strings.TrimSuffix(path, extension) + "." + strconv.Itoa(number) + extension
}

// pages returns the source of the status pages.
func (w *severalWorkers) pages() *status.Workers {
	var dial []status.Dial
	for i := range w.devices {
		dial = append(dial, w.placing.Device(i).DialPages)
	}
	return status.OfWorkers(dial...)
}
