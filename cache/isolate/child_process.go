package isolate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// minStart bounds the time to open a GPU and to close it from below.
const minStart = time.Minute

// childProcess is one child. One goroutine at a time uses it.
type childProcess struct {
	command *exec.Cmd
	input   io.WriteCloser
	replies chan message // closed when the child's output ends
	signal  string       // that ended the child, unless the pool sent it; "" = none
}

func (r *run) startChild() (*childProcess, error) {
	command, err := r.Command()
	if err != nil {
		return nil, err
	}
	c := &childProcess{command: command, replies: make(chan message, 1)}
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
	go c.readReplies(output)
	reply, err := c.wait(max(r.Timeout, minStart))
	if err != nil {
		return nil, fmt.Errorf("isolate: start a child: %w", err)
	}
	if !reply.Ready {
		return nil, errors.Join(&StartError{reply.Error, reply.Hint}, c.end(r.Timeout))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Children = append(r.report.Children, ChildStart{started, time.Now(), time.Duration(reply.ContextNanos)})
	return c, nil
}

func (c *childProcess) readReplies(output io.Reader) {
	defer close(c.replies)
	for d := json.NewDecoder(output); ; {
		var m message
		if d.Decode(&m) != nil {
			return
		}
		c.replies <- m
	}
}

// send has a program compiled. After an error the child is gone.
func (c *childProcess) send(request string, limit time.Duration) (*programMessage, error) {
	_, _ = io.WriteString(c.input, request+"\n") // a child that is gone has no reply
	reply, err := c.wait(limit)
	if err == nil && reply.Program == nil {
		c.kill()
		err = errors.New("its process did not answer with a program")
	}
	return reply.Program, err
}

// wait returns the next reply. After an error the child is gone.
func (c *childProcess) wait(limit time.Duration) (message, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case reply, ok := <-c.replies:
		if ok {
			return reply, nil
		}
		_ = c.input.Close()
		err := c.command.Wait()
		c.signal = endingSignal(err)
		if err == nil {
			err = errors.New("without an answer")
		}
		return message{}, fmt.Errorf("its process ended: %w", err)
	case <-timer.C:
		c.kill()
		return message{}, fmt.Errorf("it took longer than %s, so its process was ended", limit)
	}
}

func (c *childProcess) kill() {
	_ = c.command.Process.Kill()
	_ = c.input.Close()
	_ = c.command.Wait() // closes the child's output, also where another process holds it
	for range c.replies {
	}
}

// end closes the child's input and waits until it has stored what it compiled.
func (c *childProcess) end(limit time.Duration) error {
	_ = c.input.Close()
	timer := time.AfterFunc(max(limit, minStart), func() { _ = c.command.Process.Kill() })
	defer timer.Stop()
	err := c.command.Wait()
	for range c.replies {
	}
	if err != nil {
		return fmt.Errorf("isolate: end a child: %w", err)
	}
	return nil
}
