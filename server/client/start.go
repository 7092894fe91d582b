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
	"github.com/shadercache/shadercache/server/internal/socket"
)

const (
	idleExit   = 10 * time.Minute // of a server that is started
	startTime  = 30 * time.Second // for a server of another process to start or end
	startDelay = 5 * time.Millisecond
)

// dialOrStart is [Dial] that starts a server where none listens. This process binds the socket and
// hands it to the server, so that clients that come at the same time wait for that one.
func dialOrStart(ctx context.Context, o Options) (*Client, error) {
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
		if err = startServer(o.Path); err != nil && !errors.Is(err, socket.ErrRunning) {
			return nil, fmt.Errorf("client: start a server: %w: %w", job.ErrNoServer, err)
		}
		started = err == nil
	}
}

func logPath(socket string) string { return socket + ".log" }

// startServer binds the socket and starts a server that takes it over.
func startServer(path string) error {
	command, err := findCommand()
	if err != nil {
		return err
	}
	l, err := socket.Listen(path)
	if err != nil {
		return err
	}
	files, err := l.Hand()
	if err == nil {
		err = execServer(command, path, files)
		for _, f := range files {
			f.Close()
		}
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	return l.Leave()
}

// execServer starts the server, in a session of its own: signals of this process's terminal do
// not end it.
func execServer(command, path string, files []*os.File) error {
	messages, err := os.OpenFile(logPath(path), os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	defer messages.Close()
	cmd := exec.Command(command, "serve", "--handed-over", "--idle-exit", idleExit.String())
	cmd.ExtraFiles, cmd.Stderr = files, messages
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // its end is seen by the connection
	return nil
}

// findCommand returns the path of the server's command: in the folder of this executable, else in
// $PATH.
func findCommand() (string, error) {
	const name = "shadercache"
	if own, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(own), name)
		if _, err := exec.LookPath(beside); err == nil {
			return beside, nil
		}
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("there is no shadercache beside this executable or in $PATH: %w", err)
	}
	return found, nil
}
