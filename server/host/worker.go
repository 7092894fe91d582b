//go:build linux

package host

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/placement"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/status"
	"github.com/shadercache/shadercache/server/internal/supervisor"
)

// Worker is what [Serve] tells the process of a worker.
type Worker struct {
	Number     int           // of its device
	Devices    int           // that have a worker each; 0: it accepts clients itself
	Generation uint64        // number of the worker
	Ended      string        // why the worker before it ended
	IdleExit   time.Duration // after which it ends; 0: never
	Pages      string        // Options.Pages
}

// The first descriptor that a worker inherits. A worker that accepts clients itself has the
// socket of clients there, then that of the status pages where there are any, then the link
// with the supervisor; a worker of several has the link alone.
const firstInherited = 3

// ends are what a worker serves by.
type ends struct {
	link    *supervisor.Link
	clients server.Listener
	pages   net.Listener      // nil: none
	placed  *placement.Worker // nil: it accepts clients itself
	over    func()            // waits until the supervisor has ended
}

// Work serves as a worker until ctx, the process of Serve or its time without clients ends: then
// it returns nil. After a *server.LostError the process should end at once: the thread of the
// context may never return from the driver. gpu is what Serving has; o.Device.UUID is that of the
// GPU, and start makes the server from o and from what the worker is.
func Work(ctx context.Context, w Worker, gpu string, o server.Options, start func(server.Options) *server.Server) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	e, err := w.ends(o.Device.UUID)
	if err != nil {
		return err
	}
	go func() {
		e.over()
		stop()
	}()
	o.IdleExit, o.Generation, o.Ended = w.IdleExit, w.Generation, w.Ended
	o.Device.Number, o.Device.Count = w.Number, w.Devices
	if e.placed != nil {
		o.Names, o.SessionEnded = e.placed, e.placed.SessionEnded
	}
	s := start(o)
	if e.pages != nil {
		defer status.Serve(e.pages, w.Pages, status.Of(s)).Close()
	}
	e.link.Ready(gpu)
	err = s.Serve(ctx, e.clients)
	if lost, ok := errors.AsType[*server.LostError](err); ok {
		e.link.Lost(lost.Reason)
	}
	if errors.Is(err, server.ErrIdle) {
		e.link.Idle()
		return nil
	}
	return err
}

// ends returns the ends that the process has inherited.
func (w *Worker) ends(uuid string) (*ends, error) {
	if w.Devices > 0 {
		return w.placedEnds(uuid)
	}
	l, err := socket.FromFile(os.NewFile(firstInherited, "socket"))
	if err != nil {
		return nil, err
	}
	e, next := &ends{clients: l}, uintptr(firstInherited+1)
	if w.Pages != "" {
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
func (w *Worker) placedEnds(uuid string) (*ends, error) {
	link, err := supervisor.OpenLink(firstInherited)
	if err != nil {
		return nil, err
	}
	placed, err := placement.NewWorker(link, uuid)
	if err != nil {
		return nil, err
	}
	e := &ends{link: link, clients: placed, placed: placed, over: func() { <-placed.Over() }}
	if w.Pages != "" {
		e.pages = placed.Pages()
	}
	return e, nil
}
