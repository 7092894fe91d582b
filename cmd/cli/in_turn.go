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
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

// TurnsResult is what a command prints that runs for several GPUs in turn: a result for each
// GPU, or for each model.
type TurnsResult struct {
	Results []Turn `json:"results"` // in the order of --device
}

// Turn is the result of a command for one GPU, or for GPUs of one model.
type Turn struct {
	Devices []string        `json:"devices"` // what chooses them with --device
	Name    string          `json:"name"`    // of the GPU
	Driver  string          `json:"driver"`  // its name and build
	Folder  string          `json:"folder"`  // in the cache directory; "" where no context can be opened
	Error   string          `json:"error"`   // why no context can be opened; "" where one can
	Exit    int             `json:"exit"`    // exit code of the command for it
	Result  json.RawMessage `json:"result"`  // what the command prints with one GPU; null where it failed before

	title string // of the GPUs in messages
}

// takeTurns makes a command run for each of several GPUs of --device, or of their models, one
// after the other. Each runs in a process of its own, so that figures are those of one GPU
// alone, and a driver that crashes ends one of them. files are flags that name a file that is
// written, which the next GPU would replace.
func (o *Options) takeTurns(run runFunc, byModel bool, files []string) runFunc {
	return func(cmd *cobra.Command, args []string) error {
		if !o.SeveralDevices() {
			return run(cmd, args)
		}
		for _, name := range files {
			if cmd.Flags().Changed(name) {
				return Usage(cmd, fmt.Errorf("--%s: each of several GPUs would replace the file", name))
			}
		}
		if o.Trace != "" && !strings.Contains(o.Trace, "%p") {
			return Usage(cmd, errors.New("--trace: each of several GPUs has a process, so the file needs %p, the process id"))
		}
		lines, err := o.Devices()
		if err != nil {
			return err
		}
		return o.inTurn(cmd, turnsOf(lines, byModel))
	}
}

// turnsOf returns a turn for each GPU, or for each model.
func turnsOf(lines []DeviceLine, byModel bool) (turns []Turn) {
	models := Models(lines)
	if !byModel {
		models = slices.Collect(slices.Chunk(lines, 1))
	}
	for _, m := range models {
		first := m[0]
		t := Turn{Name: first.Name, Driver: first.Driver, Folder: first.Folder, Error: first.Error, Exit: ExitFailed}
		for _, d := range m {
			t.Devices = append(t.Devices, d.Option())
		}
		if t.title = first.String(); len(m) > 1 {
			t.title = "GPUs " + strings.Join(t.Devices, ", ")
		}
		turns = append(turns, t)
	}
	return turns
}

// inTurn runs cmd for each turn and prints the results. It stops at an interrupt and at a
// wrong command line.
func (o *Options) inTurn(cmd *cobra.Command, turns []Turn) error {
	signals := make(chan os.Signal, 2) // one that no process got is for the next
	Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	var failed []string
	done := []Turn{}
	err := error(nil)
	for i := range turns {
		t := &turns[i]
		if !o.JSON && !cmd.Flags().Changed("quiet") {
			if i > 0 {
				fmt.Fprintln(o.Stdout)
			}
			fmt.Fprintf(o.Stdout, "== %s: %s\n", t.title, EscapeName(t.Name)) // what the result belongs to
		}
		if t.Error != "" {
			o.PrintError(errors.New(t.title + " cannot be used: " + t.Error))
		} else if err = o.runTurn(cmd, t, signals); t.Exit == ExitUsage {
			return Exit(ErrReported, ExitUsage)
		}
		if t.Exit != ExitGood {
			failed = append(failed, t.title)
		}
		if done = append(done, *t); err != nil {
			break
		}
	}
	if o.JSON {
		err = errors.Join(err, o.Result(TurnsResult{done}, nil))
	}
	if err == nil && len(failed) > 0 {
		err = fmt.Errorf("%s failed on %s", strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "), strings.Join(failed, " and "))
	}
	return err
}

// runTurn runs cmd for the first GPU of a turn, in a process that gets the arguments of this
// one. It returns an error where the process cannot be started, or after an interrupt.
func (o *Options) runTurn(cmd *cobra.Command, t *Turn, signals <-chan os.Signal) error {
	executable, err := executable()
	if err != nil {
		return err
	}
	child := exec.Command(executable, withDevice(cmd, os.Args[1:], t.Devices[0])...)
	child.Args[0] = os.Args[0]
	child.Stdin, child.Stderr = os.Stdin, o.Stderr
	var out bytes.Buffer
	if child.Stdout = io.Writer(o.Stdout); o.JSON {
		child.Stdout = &out
	}
	interrupted, err := RunApart(child, signals)
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Exit, err = max(exit.ExitCode(), ExitFailed), nil
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() && !interrupted {
			o.PrintError(fmt.Errorf("the process for %s was ended by a signal: %v", t.title, status.Signal()))
		}
	} else if err == nil {
		t.Exit = ExitGood
	}
	if json.Valid(out.Bytes()) {
		t.Result = out.Bytes()
	}
	if interrupted {
		err = errors.Join(err, context.Canceled)
	}
	return err
}

// withDevice returns the arguments of cmd with one GPU: the last --device counts.
func withDevice(cmd *cobra.Command, arguments []string, device string) []string {
	end := len(arguments)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		end -= cmd.Flags().NArg() - dash + 1
	}
	return slices.Insert(slices.Clone(arguments), end, "--device="+device)
}
