//go:build linux

package client

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server/socket"
)

// Start configures [DialOrStart].
type Start struct {
	// Command is the server's program with its arguments, to which DialOrStart appends
	// how it takes the socket over. Default: "shadercache serve" of the folder of this
	// executable, else of $PATH.
	Command []string

	// IdleExit is the time without a client after which the server ends. Default: 10 min.
	IdleExit time.Duration
}

const (
	defaultIdleExit = 10 * time.Minute
	startTime       = 30 * time.Second // for a server of another process to start or end
	startDelay      = 5 * time.Millisecond
)

// DialOrStart is [Dial] that starts a server where none listens. This process binds the
// socket and hands it to the server, so that clients that come at the same time wait for
// that one. The server outlives this process, and ends when it is idle. What it logs is in
// the file beside the socket, with the suffix .log.
//
// It returns job.ErrNoServer, wrapped, with a reason, where none can be started.
func DialOrStart(ctx context.Context, o Options, s Start) (*Client, error) {
	if o.Path == "" {
		path, err := socket.DefaultPath()
		if err != nil {
			return nil, fmt.Errorf("client: %w", err)
		}
		o.Path = path
	}
	started := false
	for begin := time.Now(); ; time.Sleep(startDelay) {
		c, err := Dial(ctx, o)
		none := errors.Is(err, job.ErrNoServer)
		switch {
		case !none && !errors.Is(err, ErrDraining):
			return c, err
		case started && none:
			return nil, fmt.Errorf("%w: the one that was started has ended: see %s", err, logPath(o.Path))
		case time.Since(begin) > startTime || ctx.Err() != nil:
			return nil, errors.Join(err, ctx.Err())
		case !none:
			continue // a server that ends
		}
		if err = s.run(o.Path); err != nil && !errors.Is(err, socket.ErrRunning) {
			return nil, fmt.Errorf("client: start a server: %w: %w", job.ErrNoServer, err)
		}
		started = err == nil
	}
}

func logPath(socket string) string { return socket + ".log" }

// run binds the socket and starts a server that takes it over.
func (s Start) run(path string) error {
	command, err := s.command()
	if err != nil {
		return err
	}
	l, err := socket.Listen(path)
	if err != nil {
		return err
	}
	files, err := l.Hand()
	if err == nil {
		err = s.exec(command, path, files)
		for _, f := range files {
			f.Close()
		}
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return l.Leave()
}

// exec starts the server, in a session of its own: signals of this process's terminal do
// not end it.
func (s Start) exec(command []string, path string, files []*os.File) error {
	messages, err := os.OpenFile(logPath(path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer messages.Close()
	idle := s.IdleExit
	if idle <= 0 {
		idle = defaultIdleExit
	}
	cmd := exec.Command(command[0], append(command[1:len(command):len(command)], "--handed-over", "--idle-exit", idle.String())...)
	cmd.ExtraFiles, cmd.Stderr = files, messages
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // its end is seen by the connection
	return nil
}

// command returns the server's command.
func (s Start) command() ([]string, error) {
	if len(s.Command) > 0 {
		return s.Command, nil
	}
	const name = "shadercache"
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), name)
		if _, err := exec.LookPath(beside); err == nil {
			return []string{beside, "serve"}, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("there is no shadercache beside this executable or in $PATH: %w", err)
	}
	return []string{found, "serve"}, nil
}
