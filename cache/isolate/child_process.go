package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"time"
)

// childVariable is set in the environment of a child that ChildCommand starts.
const childVariable = "SHADERCACHE_ISOLATED"

// ChildCommand returns a command that starts this executable again with the same
// arguments and standard error, as a process where IsChild reports true.
func ChildCommand() (*exec.Cmd, error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(executable, os.Args[1:]...)
	command.Args[0] = os.Args[0]
	command.Env = append(os.Environ(), childVariable+"=1")
	command.Stderr = os.Stderr
	return command, nil
}

// IsChild reports whether ChildCommand started this process. Its main then calls
// Child.Serve and ends.
func IsChild() bool { return os.Getenv(childVariable) != "" }

const (
	// minStart bounds the time to open a GPU and to close it from below.
	minStart = time.Minute

	// drainTime bounds the wait for what a child that has ended wrote: another process
	// may hold its descriptors open.
	drainTime = time.Second

	// killTime bounds the wait for the end of a child that was killed: the system does
	// not end a process while it waits for a device.
	killTime = 10 * time.Second
)

// childProcess is one child. One goroutine at a time uses it.
type childProcess struct {
	command *exec.Cmd
	limits  limits
	before  int64 // bytes of memory when it was ready
	input   *os.File
	source  *os.File      // of replies
	replies chan message  // closed when there are no more
	ended   chan struct{} // closed when the process has ended
	output  *childOutput
	log     *slog.Logger
}

// startChild starts a child and waits until it is ready.
func (r *run) startChild(newCommand func() (*exec.Cmd, error)) (*childProcess, error) {
	command, err := newCommand()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoProcess, err)
	}
	started := time.Now()
	c, err := r.startProcess(command)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoProcess, err)
	}
	hello, err := json.Marshal(c.limits)
	if err != nil {
		panic(err) // numbers can be encoded
	}
	reply, err := c.ask(string(hello), limits{Timeout: max(r.Timeout, minStart)})
	if err != nil {
		return nil, fmt.Errorf("isolate: start a child: %w", err)
	}
	if !reply.Ready {
		return nil, errors.Join(&StartError{reply.Error, reply.Hint}, c.end())
	}
	c.before = memoryOf(command.Process.Pid)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Children = append(r.report.Children, ChildStart{started, time.Now(), time.Duration(reply.ContextNanos)})
	return c, nil
}

// startProcess starts a command with its descriptors.
func (r *run) startProcess(command *exec.Cmd) (*childProcess, error) {
	c := &childProcess{
		command: command, limits: limits{r.Timeout, r.MaxMemoryBytes},
		replies: make(chan message, 1), ended: make(chan struct{}), log: r.Logger,
	}
	requests, input, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer requests.Close()
	replies, w, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, input.Close())
	}
	defer w.Close()
	if command.Stderr != nil {
		c.output = &childOutput{to: command.Stderr, seen: &r.seen}
		command.Stdout, command.Stderr = c.output, c.output
	}
	command.Stdin, command.WaitDelay = requests, drainTime
	passReplies(command, w)
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, input.Close(), replies.Close())
	}
	c.input, c.source = input, replies
	go c.readReplies()
	go func() {
		_ = command.Wait() // the state of the process has it
		close(c.ended)
		time.AfterFunc(drainTime, func() { _ = replies.Close() })
	}()
	return c, nil
}

func (c *childProcess) readReplies() {
	defer close(c.replies)
	defer c.source.Close()
	for d := json.NewDecoder(c.source); ; {
		var m message
		if d.Decode(&m) != nil {
			return
		}
		c.replies <- m
	}
}

// send has the program of a request compiled, or those of several loaded. A result is nil where
// the program has to be requested alone. After an error, a *LostError, the child is gone.
func (c *childProcess) send(requests ...string) ([]*programMessage, error) {
	reply, err := c.ask(encodeRequests(requests), c.limits)
	if err == nil && (len(reply.Programs) != len(requests) || len(requests) == 1 && reply.Programs[0] == nil) {
		c.kill()
		err = &LostError{Err: errors.New("its process did not answer with its programs")}
	}
	return reply.Programs, err
}

// ask sends a line and returns the reply. After an error the child is gone.
func (c *childProcess) ask(line string, l limits) (message, error) {
	// A child that does not read, or is gone, does not reply either.
	_ = c.input.SetWriteDeadline(time.Now().Add(l.Timeout))
	_, _ = io.WriteString(c.input, line+"\n")
	m := newMeter(l, c.command.Process.Pid)
	tick := time.NewTicker(l.tick())
	defer tick.Stop()
	ended := c.ended
	for {
		select {
		case reply, ok := <-c.replies:
			if ok {
				return reply, nil
			}
			return message{}, c.lost()
		case <-ended:
			ended = nil // replies are closed soon
		case <-tick.C:
			if over := m.exceeded(); over != nil {
				c.kill()
				return message{}, over
			}
		}
	}
}

// hasGrown reports whether a child holds so much more memory than when it was ready, for
// instance of programs that its driver keeps, that another one should continue.
func (c *childProcess) hasGrown() bool {
	return c.limits.MemoryBytes > 0 && memoryOf(c.command.Process.Pid)-c.before > c.limits.MemoryBytes/2
}

// lost returns how a child that closed its replies ended.
func (c *childProcess) lost() *LostError {
	select {
	case <-c.ended: // drainTime after its end where another process holds its output
		_ = c.input.Close()
	case <-time.After(killTime):
		c.kill()
		return &LostError{Err: errors.New("its process closed its output")}
	}
	state := c.command.ProcessState
	l := &LostError{Signal: endingSignal(state)}
	reported, first := c.printed()
	if l.Signal == "" && !state.Success() {
		l.Signal = reported
	}
	switch {
	case l.Crashed():
		l.Err = fmt.Errorf("the driver crashed: %s", l.Signal)
	case l.Signal != "":
		l.Err = fmt.Errorf("its process was ended by %s", l.Signal)
	case first != "":
		l.Err = fmt.Errorf("its process ended: %s: %s", state, first)
	case state.Success():
		l.Err = errors.New("its process ended without an answer")
	default:
		l.Err = fmt.Errorf("its process ended: %s", state)
	}
	return l
}

// printed returns what the child's runtime printed about its end, and logs it.
func (c *childProcess) printed() (signal, first string) {
	if c.output == nil {
		return "", ""
	}
	c.output.end()
	signal, first, whole := c.output.crash()
	if whole != "" {
		c.log.Debug("a child printed", "output", whole)
	}
	return signal, first
}

// kill ends the child.
func (c *childProcess) kill() {
	_ = c.command.Process.Kill()
	_ = c.input.Close()
	c.wait(killTime)
}

// wait waits until the child has ended, and reports whether it has.
func (c *childProcess) wait(limit time.Duration) (ended bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.ended:
		ended = true
	case <-timer.C:
	}
	_ = c.source.Close()
	for range c.replies {
	}
	return ended
}

// end closes the child's input and waits until it has closed its cache, for as long as
// a child may take to start.
func (c *childProcess) end() error {
	_ = c.input.Close()
	if !c.wait(max(c.limits.Timeout, minStart)) {
		c.kill()
		return errors.New("isolate: end a child: it did not end, so it was killed")
	}
	c.printed()
	if state := c.command.ProcessState; !state.Success() {
		return fmt.Errorf("isolate: end a child: %s", state)
	}
	return nil
}
