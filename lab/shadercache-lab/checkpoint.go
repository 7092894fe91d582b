package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/resident"
	"github.com/shadercache/shadercache/shader"
)

const checkpointUsage = `Show checkpoints of kernels that keep running.

  shadercache-lab run wave --checkpoint FILE   saves
  shadercache-lab run wave --resume FILE       continues, also on another GPU

docs/resident.md has the format. These commands need no OpenGL, and write
nothing.`

func newCheckpoint(o *options) cli.Command {
	return cli.Command{
		Use:     "checkpoint [flags]",
		Short:   "Show checkpoints of kernels that keep running",
		Long:    checkpointUsage,
		Example: "  shadercache-lab checkpoint inspect wave.checkpoint",
		Below:   []cli.Command{newCheckpointInspect(o)},
	}
}

const checkpointInspectUsage = `Check every byte of a checkpoint and show what it holds: the kernel, the steps,
and each state with the SHA-256 of its content.

FILE is what --checkpoint was given, of which the two newest checkpoints are in
FILE.0 and FILE.1, or one file with a checkpoint. Of two, the newest valid one
is shown. --state writes the content of one state, byte for byte.

The exit code is 1 when no copy is valid.`

// checkpointInspection is what checkpoint inspect prints.
type checkpointInspection struct {
	Copies   []checkpointCopy  `json:"copies"`
	File     string            `json:"file"`     // that the rest is of
	Kernel   string            `json:"kernel"`   // key of its source
	Sequence uint64            `json:"sequence"` // number of the checkpoint
	Steps    uint64            `json:"steps"`    // that every group has done
	Groups   int               `json:"groups"`
	Halted   int               `json:"halted"` // groups that have
	States   []checkpointState `json:"states"`
}

// checkpointCopy is a file with a checkpoint.
type checkpointCopy struct {
	File     string `json:"file"`
	Valid    bool   `json:"valid"`
	Why      string `json:"why,omitempty"` // it is not
	Sequence uint64 `json:"sequence"`
	Steps    uint64 `json:"steps"`
}

// checkpointState is a state of the kernel.
type checkpointState struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	SHA256 string `json:"sha256"`
}

func newCheckpointInspect(o *options) cli.Command {
	var f struct {
		State string `flag:"state" help:"write the content of this state alone"`
	}
	return cli.Command{
		Use:     "inspect [--state NAME] FILE",
		Short:   "Check a checkpoint and show what it holds",
		Long:    checkpointInspectUsage,
		Example: "  shadercache-lab checkpoint inspect wave.checkpoint --json",
		Args:    cli.OneArgument("name one checkpoint"),
		Flags:   &f, Unused: cli.DirFlags + cli.GPUFlags, Result: checkpointInspection{},
		Run: func(cmd *cobra.Command, args []string) (cli.Result, error) {
			if f.State != "" && o.JSON {
				return nil, cli.Usage(cmd, errors.New("--state writes bytes, and no JSON"))
			}
			r, c, err := inspectCheckpoint(args[0])
			if err != nil {
				return nil, err
			}
			if f.State == "" {
				return nil, o.Result(r, r.Print)
			}
			data, ok := c.State(f.State)
			if !ok {
				return nil, cli.Hint(fmt.Errorf("%s has no state %q", r.File, f.State), "shadercache-lab checkpoint inspect "+args[0])
			}
			_, err = o.Stdout.Write(data)
			return nil, err
		},
	}
}

// checkpointCopies reads one file, or the two of a path.
func checkpointCopies(path string) []resident.CheckpointCopy {
	if _, err := os.Lstat(path); err == nil {
		return []resident.CheckpointCopy{resident.ReadCopy(path)}
	}
	both := resident.OpenCheckpointFile(path).Copies()
	return both[:]
}

// inspectCheckpoint returns the newest valid checkpoint at a path and what it holds.
func inspectCheckpoint(path string) (*checkpointInspection, *resident.Checkpoint, error) {
	r := &checkpointInspection{States: []checkpointState{}}
	var newest *resident.Checkpoint
	var problems []error
	for _, c := range checkpointCopies(path) {
		line := checkpointCopy{File: c.Path, Valid: c.Err == nil}
		if c.Err != nil {
			line.Why = c.Err.Error()
			problems = append(problems, c.Err)
		} else {
			line.Sequence, line.Steps = c.Checkpoint.Sequence, c.Checkpoint.Steps
			if newest == nil || newest.Sequence < line.Sequence {
				newest, r.File = c.Checkpoint, c.Path
			}
		}
		r.Copies = append(r.Copies, line)
	}
	if newest == nil {
		return nil, nil, noCheckpoint(path, problems)
	}
	r.Kernel, r.Sequence, r.Steps = shader.Digest(newest.Kernel).String(), newest.Sequence, newest.Steps
	r.Groups, r.Halted = newest.Groups()
	for _, v := range newest.States() {
		r.States = append(r.States, checkpointState{v.Block, v.Bytes, hex.EncodeToString(v.SHA256[:])})
	}
	return r, newest, nil
}

// noCheckpoint returns why there is no valid checkpoint at a path.
func noCheckpoint(path string, problems []error) error {
	for _, err := range problems {
		if !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no valid checkpoint at %s: %w", path, errors.Join(problems...))
		}
	}
	return cli.Hint(fmt.Errorf("there is no checkpoint at %s", path), "shadercache-lab run wave --checkpoint "+path+" makes one")
}

func (r *checkpointInspection) Print(w io.Writer) {
	fmt.Fprintf(w, "kernel\t%s\nsteps\t%d\ngroups\t%d, %d halted\n", r.Kernel, r.Steps, r.Groups, r.Halted)
	fmt.Fprint(w, "\ncopy\tsequence\tsteps\t\n")
	for _, c := range r.Copies {
		if c.Valid {
			fmt.Fprintf(w, "%s\t%d\t%d\tvalid\n", cli.EscapeName(c.File), c.Sequence, c.Steps)
		} else {
			fmt.Fprintf(w, "%s\t\t\t%s\n", cli.EscapeName(c.File), cli.EscapeText(c.Why))
		}
	}
	fmt.Fprint(w, "\nstate\tbytes\tsha256\n")
	for _, v := range r.States {
		fmt.Fprintf(w, "%s\t%d\t%s\n", cli.EscapeName(v.Name), v.Bytes, v.SHA256)
	}
}
