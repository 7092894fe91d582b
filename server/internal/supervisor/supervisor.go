//go:build linux

// Package supervisor keeps a server running: it starts the process that has the GL
// context, the worker, and starts another one when the worker's context was lost or it
// crashed. The supervisor has the listening socket, so that clients can connect at any
// time: those that come while no worker runs are served by the next one.
//
// The worker inherits its sockets, and one end of a link: see [Link].
package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Options configure [Run].
type Options struct {
	// Command returns the command of a worker, for its generation and the reason why the
	// one before it ended. Its ExtraFiles are set by Run.
	Command func(generation uint64, ended string) (*exec.Cmd, error)

	// Files are inherited by each worker, from descriptor 3 on: the listening sockets.
	// The link comes after them. Run closes them when it stops a worker.
	Files []*os.File

	// Ready is called when the first worker serves, with what it said.
	Ready func(text string)

	// Follower follows the workers. Default: nothing does.
	Follower Follower

	// StopTime is the time that a worker has to end after SIGTERM before it is killed.
	// Default: 40 s, more than a server drains.
	StopTime time.Duration

	// Logger receives the end of workers. Default: nothing is logged.
	Logger *slog.Logger
}

// Follower follows the workers of one [Run], which calls its methods one after the other.
// They must not wait for a worker.
type Follower interface {
	Serves(l *Link)      // a worker serves: messages can be sent to it until Ended
	Received(m Message)  // a worker has sent a message that is not for Run
	Ended(reason string) // the worker has ended, or is about to: it may be called twice
}

// nobody is who follows where nothing does.
type nobody struct{}

func (nobody) Serves(*Link)     {}
func (nobody) Received(Message) {}
func (nobody) Ended(string)     {}

// ErrWorker is returned by Run, wrapped, when workers end before they serve.
var ErrWorker = errors.New("the worker process ends before it serves")

const (
	maxFailures = 5                      // workers in a row that end before they serve
	firstDelay  = 100 * time.Millisecond // before the second worker that ended early; then doubled
	maxDelay    = 5 * time.Second        // clients wait for twice that
	longRun     = 10 * time.Second       // a worker that ran for longer did not end early
	lostGrace   = 2 * time.Second        // for a worker that reported a loss to end by itself
)

// Run runs workers until one ends by itself, having nothing to do, or ctx ends: then it
// sends SIGTERM to the worker and waits for it. It returns nil in both cases, and
// ErrWorker, wrapped, when the first worker, or several later ones in a row, end before
// they serve.
func Run(ctx context.Context, o Options) error {
	if o.StopTime <= 0 {
		o.StopTime = 40 * time.Second
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Follower = cmp.Or[Follower](o.Follower, nobody{})
	ended, failures, delay := "", 0, firstDelay
	for generation := uint64(1); ; generation++ {
		w, err := o.start(generation, ended)
		if err != nil {
			return fmt.Errorf("start a worker: %w", err)
		}
		started := time.Now()
		o.watch(ctx, w)
		ended = w.reason()
		o.Follower.Ended(ended)
		if w.idle || ctx.Err() != nil {
			return nil
		}
		o.Logger.Warn("the worker ended; another one starts", "generation", generation, "reason", ended)
		if failures++; w.served {
			failures = 0
		}
		if failures >= maxFailures || failures > 0 && generation == 1 {
			return fmt.Errorf("%w: %s", ErrWorker, ended)
		}
		if time.Since(started) > longRun {
			delay = firstDelay
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(delay):
		}
		delay = min(2*delay, maxDelay)
	}
}

// worker is one worker process.
type worker struct {
	cmd      *exec.Cmd
	link     *Link
	messages chan Message // what it sends; closed when it sends nothing more
	exited   chan error   // its end
	err      error        // of its end
	served   bool
	idle     bool   // it ended as it had nothing to do
	lost     string // the loss that it reported
}

func (o *Options) start(generation uint64, ended string) (*worker, error) {
	cmd, err := o.Command(generation, ended)
	if err != nil {
		return nil, err
	}
	ours, theirs, err := newLink()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd.ExtraFiles = append(append([]*os.File{}, o.Files...), theirs)
	// Signals of a terminal reach the supervisor alone, which passes them on.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		ours.Close()
		return nil, err
	}
	w := &worker{cmd: cmd, link: ours, messages: make(chan Message), exited: make(chan error, 1)}
	go receiveAll(ours, w.messages)
	go func() { w.exited <- cmd.Wait() }()
	return w, nil
}

// watch waits for the end of a worker.
func (o *Options) watch(ctx context.Context, w *worker) {
	stop := ctx.Done()
	var kill <-chan time.Time
	messages := w.messages
	for {
		select {
		case m, ok := <-messages:
			if !ok {
				messages = nil
				continue
			}
			if o.receive(w, m); m.Word == wordLost {
				kill = time.After(lostGrace)
			}
		case <-stop:
			stop = nil
			for _, f := range o.Files { // no worker follows: clients do not wait for one
				f.Close()
			}
			_ = w.cmd.Process.Signal(syscall.SIGTERM)
			kill = time.After(o.StopTime)
		case <-kill:
			_ = w.cmd.Process.Kill()
		case w.err = <-w.exited:
			if messages != nil {
				for m := range messages { // what it sent last
					o.receive(w, m)
				}
			}
			return
		}
	}
}

// receive handles a message of a worker.
func (o *Options) receive(w *worker, m Message) {
	switch m.Word {
	case wordReady:
		w.served = true
		o.Follower.Serves(w.link)
		if o.Ready != nil {
			o.Ready(m.Text)
			o.Ready = nil
		}
	case wordLost:
		w.lost = m.Text
		o.Follower.Ended(m.Text)
	case wordIdle:
		w.idle = true
	default:
		o.Follower.Received(m)
	}
}

// reason returns why the worker ended.
func (w *worker) reason() string {
	if w.lost != "" {
		return w.lost
	}
	status, ok := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case ok && status.Signaled():
		return fmt.Sprintf("the worker was ended by signal %d (%v)", status.Signal(), status.Signal())
	case w.err == nil:
		return "the worker was asked to end by a signal"
	case !w.served:
		return fmt.Sprintf("the worker did not start: %v", w.err)
	}
	return fmt.Sprintf("the worker ended: %v", w.err)
}
