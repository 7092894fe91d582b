package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
)

// ChildCommand returns a command that starts this executable with the global flags of
// this process, its environment and its standard error, but with dir as cache
// directory; a private place has its upstream directory there too. With --json what the
// child's driver prints becomes JSONMessages.
func (o *Options) ChildCommand(ctx context.Context, dir string, command []string, arguments ...string) (*exec.Cmd, error) {
	executable, err := executable()
	if err != nil {
		return nil, err
	}
	all := append(command, "--device", o.Device, "--api", o.API.String(),
		"--driver-cache", o.DriverCache.String(), "--log-level", o.LogLevel.String(),
		"--json="+strconv.FormatBool(o.JSON))
	if dir != "" { // else the child finds the default itself
		all = append(all, "--dir", dir)
	}
	child := exec.CommandContext(ctx, executable, append(all, arguments...)...)
	child.Args[0] = os.Args[0]
	if l := o.Place().Find(); l.Private() && len(l.Upstream) > 0 && l.Dir.Path() == dir {
		child.Env = append(os.Environ(), "SHADERCACHE_UPSTREAM="+l.Upstream[0].Path())
	}
	if child.Stderr = o.Stderr; o.JSON {
		child.Stderr = &messageLines{to: o.Stderr}
	}
	return child, nil
}

// executable returns the path of the file of this process.
func executable() (string, error) {
	path, err := os.Executable()
	const running = "/proc/self/exe" // on Linux, whatever became of the file
	own, _ := os.Stat(running)
	if file, statErr := os.Stat(path); own != nil && (statErr != nil || !os.SameFile(own, file)) {
		path = running
	}
	return path, err
}

// ReadChild runs a command of ChildCommand and decodes the object that it prints. It returns
// ErrReported where the process failed, which has printed its error: one that a signal ended may
// have printed none.
func ReadChild(ctx context.Context, child *exec.Cmd, result any) error {
	output, err := child.Output()
	exit, failed := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case failed && exit.Exited():
		return ErrReported
	case err != nil:
		return fmt.Errorf("the child process: %w", err)
	}
	if err := json.Unmarshal(output, result); err != nil {
		return fmt.Errorf("the child printed no result: %w", err)
	}
	return nil
}

// RunApart runs a process that gets no signals of the terminal, and SIGTERM where this process
// is killed. It passes signals on, which may be nil, and reports whether there was one.
func RunApart(child *exec.Cmd, signals <-chan os.Signal) (signaled bool, err error) {
	runtime.LockOSThread() // the process gets the SIGTERM when the thread that starts it ends
	defer runtime.UnlockOSThread()
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	if err := child.Start(); err != nil {
		return false, err
	}
	ended := make(chan error, 1)
	go func() { ended <- child.Wait() }()
	for {
		select {
		case s := <-signals:
			signaled = true
			_ = child.Process.Signal(s)
		case err := <-ended:
			return signaled, err
		}
	}
}

// messageLines writes each line as a JSONMessage, unless it is one.
type messageLines struct {
	to   io.Writer
	line []byte // not complete
}

func (w *messageLines) Write(data []byte) (int, error) {
	w.line = append(w.line, data...)
	for {
		line, rest, whole := bytes.Cut(w.line, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		w.line = rest
		m := JSONMessage{}
		if json.Unmarshal(line, &m) != nil || m.Schema == 0 {
			m = JSONMessage{Schema: messageSchema, Level: "warning", Message: string(line)}
		}
		printMessage(w.to, m)
	}
}
