//go:build linux

package host

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"sync"

	"github.com/shadercache/shadercache/server/internal/placement"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/status"
	"github.com/shadercache/shadercache/server/internal/supervisor"
)

// workers are the workers of several devices, each with its supervisor, in this process.
type workers struct {
	*Options
	placing *placement.Placement

	mu      sync.Mutex
	serving Serving
	unknown int // devices that neither serve nor failed yet
}

// serveSeveral serves with a worker for each device, until no device is left too.
func (o *Options) serveSeveral(ctx context.Context, l *socket.Listener, pages net.Listener, serving Serving) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &workers{Options: o, serving: serving, unknown: len(o.Devices)}
	w.placing = placement.New(len(o.Devices), placement.Options{IdleExit: o.IdleExit, Logger: o.Logger})
	if pages != nil {
		var dial []status.Dial
		for i := range o.Devices {
			dial = append(dial, w.placing.Device(i).DialPages)
		}
		defer status.Serve(pages, o.Pages, status.OfWorkers(dial...)).Close()
	}
	failed := make(chan error, 1)
	go func() {
		failed <- w.run(ctx)
		stop()
	}()
	err := w.placing.Serve(ctx, l)
	stop()
	return errors.Join(err, <-failed)
}

// run supervises all workers. It returns nil when ctx ends, and an error when there are no
// workers any more.
func (w *workers) run(ctx context.Context) error {
	errs := make([]error, len(w.Devices))
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
func (w *workers) supervise(ctx context.Context, number int) error {
	logger := w.Logger.With("device", number)
	err := supervisor.Run(ctx, supervisor.Options{
		Follower: w.placing.Device(number), Logger: logger,
		Command: func(generation uint64, ended string) (*exec.Cmd, error) { // the placement ends all together
			return w.Command(Worker{Number: number, Devices: len(w.Devices), Generation: generation, Ended: ended, Pages: w.Pages})
		},
		Ready: func(gpu string) { w.settle(number, gpu, "") },
	})
	if ctx.Err() != nil {
		return nil
	}
	logger.Error("the device is not served any more", "error", err)
	w.placing.Device(number).Failed(err.Error())
	w.settle(number, "", err.Error())
	return err
}

// settle records whether a device serves, and calls Ready when all are settled and one of them
// serves.
func (w *workers) settle(number int, gpu, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := &w.serving.Devices[number]
	if w.unknown == 0 || d.GPU != "" || d.Error != "" {
		return // it served once
	}
	d.GPU, d.Error = gpu, reason
	if w.serving.GPU == "" {
		w.serving.GPU = gpu
	}
	if w.unknown--; w.unknown == 0 && w.serving.GPU != "" {
		w.Ready(w.serving)
	}
}
