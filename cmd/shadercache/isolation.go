package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/internal/cli"
)

// isolation has programs compiled by child processes, so that a driver that
// dies or hangs takes one program with it and not the rest.
//
// A child says that it is ready, then reads the word for a program from standard
// input, a line each, compiles it, and answers on standard output, one JSON object
// a line, until its input ends. So the parent knows what a child was at when it
// died, and the quicker children do more.
type isolation struct {
	timeout time.Duration                    // for one program
	word    func(index int) string           // what a child is told of a program, one line
	command func() (*exec.Cmd, error)        // makes a child
	done    func(index int, got preloadLine) // called once for each program, one at a time

	// crashed is called when a signal ended a child, before the next one starts;
	// nil: nobody wants to know.
	crashed func(process int, signal string)

	// ready is called when a child is, one at a time; nil: nobody wants to know.
	ready func(started time.Time, contextMillis float64)

	mu struct {
		sync.Mutex
		waiting  []int
		answered map[int]bool
		lost     map[int]bool // tried once, and the child was lost
	}
}

// isolatedReply is what a child answers.
type isolatedReply struct {
	Ready bool   `json:"ready,omitempty"`
	Error string `json:"error,omitempty"` // why it cannot start
	Hint  string `json:"hint,omitempty"`

	ContextMillis float64 `json:"context_ms,omitempty"` // what opening the GPU took

	Program preloadLine `json:"program"`
}

// minStart is what a child has at least to open the GPU.
const minStart = time.Minute

// run compiles the programs of all indices with so many children side by side.
// It fails when a child cannot start, and when ctx ends; then children complete
// what they are at, since killing them would look like a driver that died.
func (s *isolation) run(ctx context.Context, indices []int, jobs int) error {
	s.mu.waiting = indices
	s.mu.answered, s.mu.lost = map[int]bool{}, map[int]bool{}
	var workers errgroup.Group
	for range min(jobs, len(indices)) {
		workers.Go(func() error {
			for s.left() > 0 {
				if err := s.work(ctx); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return workers.Wait()
}

// work feeds one child until nothing is left or the child is lost.
func (s *isolation) work(ctx context.Context) error {
	child, err := s.start()
	if err != nil {
		return err
	}
	var did []int
	for ctx.Err() == nil {
		index, ok := s.next()
		if !ok {
			return child.end(s.timeout)
		}
		reply, err := child.ask(s.word(index), s.timeout)
		if err != nil && s.crashed != nil && child.signal != "" {
			s.crashed(child.command.Process.Pid, child.signal)
		}
		if err != nil && s.firstLoss(index) {
			s.again(append(did, index))
			return nil
		}
		if err != nil {
			err = cli.Hint(err, "it is in quarantine for a day; shadercache verify --repair ends that")
			s.answer(index, preloadLine{Error: err.Error(), SetAside: true, err: err})
			// Some of what the child did last may not have reached the disk.
			s.again(did)
			return nil
		}
		if reply.Program.Error != "" {
			reply.Program.err = cli.ErrReported // the child said what is wrong
		}
		s.answer(index, reply.Program)
		did = append(did, index)
	}
	return errors.Join(ctx.Err(), child.end(s.timeout))
}

func (s *isolation) left() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.mu.waiting)
}

func (s *isolation) next() (index int, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.mu.waiting) == 0 {
		return 0, false
	}
	index, s.mu.waiting = s.mu.waiting[0], s.mu.waiting[1:]
	return index, true
}

// firstLoss notes that a child was lost with a program. The program gets a
// second try. Where the driver crashed, the next child is told so and refuses it;
// where the child was killed, that may have had another reason, and it takes a
// second death.
func (s *isolation) firstLoss(index int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := !s.mu.lost[index]
	s.mu.lost[index] = true
	return first
}

func (s *isolation) again(indices []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.waiting = append(s.mu.waiting, indices...)
}

// answer passes the first answer for a program on.
func (s *isolation) answer(index int, got preloadLine) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.answered[index] {
		s.mu.answered[index] = true
		s.done(index, got)
	}
}

// isolatedChild is one child process. One goroutine at a time uses it.
type isolatedChild struct {
	command *exec.Cmd
	input   io.WriteCloser
	replies chan isolatedReply // closed when the child's output ends
	signal  string             // that ended the child, and not us; "" = none
}

func (s *isolation) start() (*isolatedChild, error) {
	command, err := s.command()
	if err != nil {
		return nil, err
	}
	c := &isolatedChild{command: command, replies: make(chan isolatedReply, 1)}
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.input, err = command.StdinPipe(); err != nil {
		return nil, err
	}
	started := time.Now()
	if err := command.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(c.replies)
		for d := json.NewDecoder(output); ; {
			var r isolatedReply
			if d.Decode(&r) != nil {
				return
			}
			c.replies <- r
		}
	}()
	reply, err := c.wait(max(s.timeout, minStart))
	if err != nil {
		return nil, fmt.Errorf("start a child: %w", err)
	}
	if !reply.Ready {
		return nil, errors.Join(cli.Hint(errors.New(reply.Error), reply.Hint), c.end(s.timeout))
	}
	if s.ready != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ready(started, reply.ContextMillis)
	}
	return c, nil
}

// ask has a program compiled. After an error the child is gone.
func (c *isolatedChild) ask(word string, limit time.Duration) (isolatedReply, error) {
	_, _ = io.WriteString(c.input, word+"\n") // a child that is gone has no reply
	return c.wait(limit)
}

// wait returns the next reply, or an error after it made sure that the child is
// gone.
func (c *isolatedChild) wait(limit time.Duration) (isolatedReply, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case reply, ok := <-c.replies:
		if ok {
			return reply, nil
		}
		_ = c.input.Close()
		err := c.command.Wait()
		c.signal = signalOf(err)
		return isolatedReply{}, fmt.Errorf("its process ended: %w", ended(err))
	case <-timer.C:
		c.kill()
		return isolatedReply{}, fmt.Errorf("it took longer than %s, so its process was ended", limit)
	}
}

// signalOf is the signal that ended a process, such as "SIGSEGV: segmentation
// fault", or "".
func signalOf(err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return ""
	}
	status, ok := exit.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return ""
	}
	return unix.SignalName(status.Signal()) + ": " + status.Signal().String()
}

// ended is how a process ended that should not have.
func ended(err error) error {
	if err == nil {
		return errors.New("without an answer")
	}
	return err
}

func (c *isolatedChild) kill() {
	_ = c.command.Process.Kill()
	_ = c.input.Close()
	_ = c.command.Wait() // which closes the child's output, whoever else holds it
	for range c.replies {
	}
}

// end lets the child store what it has.
func (c *isolatedChild) end(limit time.Duration) error {
	_ = c.input.Close()
	timer := time.AfterFunc(max(limit, minStart), func() { _ = c.command.Process.Kill() })
	defer timer.Stop()
	err := c.command.Wait()
	for range c.replies {
	}
	if err != nil {
		return fmt.Errorf("a child did not end well: %w", err)
	}
	return nil
}
