package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/demo/wave"
	"github.com/shadercache/shadercache/resident"
)

// waveCheckpoints are the flags of run wave for checkpoints.
type waveCheckpoints struct {
	Checkpoint      string        `flag:"checkpoint" help:"save the simulation in FILE.0 and FILE.1" value:"FILE"`
	CheckpointEvery time.Duration `flag:"checkpoint-every" help:"time from checkpoint to checkpoint" must:"above 0"`
	Resume          string        `flag:"resume" help:"continue the simulation that is saved in FILE" value:"FILE"`
}

// waveSaved is what run wave prints of its checkpoints.
type waveSaved struct {
	ResumedAt       uint32 `json:"resumed_at"`       // step of the checkpoint, 0 without --resume
	Checkpoints     uint64 `json:"checkpoints"`      // of --checkpoint
	CheckpointBytes uint64 `json:"checkpoint_bytes"` // that were written
}

// used reports whether the simulation is a session.
func (c *waveCheckpoints) used() bool { return c.Checkpoint != "" || c.Resume != "" }

// checkEven returns an error where a session would have to stop after an odd step.
func (f *waveFlags) checkEven() error {
	if !f.used() {
		return nil
	}
	if f.CheckpointEvery < 0 {
		return errors.New("--checkpoint-every must be more than 0")
	}
	if f.Steps%2 != 0 || f.Out != "" && f.Every%2 != 0 {
		return errors.New("with --checkpoint and --resume, --steps and --every must be even")
	}
	for _, p := range f.scheduled {
		if p.Step%2 != 0 {
			return fmt.Errorf("with --checkpoint and --resume, the step of --poke %d,%d,%g@%d must be even", p.X, p.Y, p.Amplitude, p.Step)
		}
	}
	return nil
}

// simulation returns the simulation that the flags ask for, and a function that ends it and
// returns what was saved. A simulation that continues sets what the experiment has done.
func (f *waveFlags) simulation(ctx context.Context, g *cli.GPU, e *wave.Experiment) (wave.Simulation, func() (waveSaved, error), error) {
	if !f.used() {
		sim, err := wave.New(ctx, g.Executor, g.Cache, f.options())
		if err != nil {
			return nil, nil, err
		}
		return sim, func() (waveSaved, error) { sim.Close(); return waveSaved{}, nil }, nil
	}
	how := resident.Options{CheckpointEvery: f.CheckpointEvery}
	if f.Checkpoint != "" {
		how.Checkpoints = resident.OpenCheckpointFile(f.Checkpoint)
	}
	s, err := wave.NewSession(ctx, g.Context, g.Cache, f.options(), how)
	if err == nil && f.Resume != "" {
		err = f.restore(ctx, s, e)
	}
	if err != nil {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
		return nil, nil, err
	}
	return s, func() (waveSaved, error) { return f.endSession(ctx, s, how.Checkpoints, e) }, nil
}

// restore loads the checkpoint of --resume into a session.
func (f *waveFlags) restore(ctx context.Context, s *wave.Session, e *wave.Experiment) error {
	_, c, err := inspectCheckpoint(f.Resume)
	if err != nil {
		return err
	}
	if err := s.Resident().Restore(ctx, c); err != nil {
		if errors.Is(err, resident.ErrOtherKernel) {
			err = cli.Hint(err, "give --resume the same --size, --tiles and --absorb")
		}
		return err
	}
	if e.Done = int(s.Steps()); e.Done > f.Steps {
		return fmt.Errorf("%s is at step %d, and --steps is %d", f.Resume, e.Done, f.Steps)
	}
	e.Applied, err = s.Impulses(ctx)
	return err
}

// endSession saves the session, also where ctx has ended, and closes it.
func (f *waveFlags) endSession(ctx context.Context, s *wave.Session, file *resident.CheckpointFile, e *wave.Experiment) (waveSaved, error) {
	saved := waveSaved{ResumedAt: uint32(e.Done)}
	var err error
	if file != nil {
		var c *resident.Checkpoint
		if c, err = s.Resident().Checkpoint(context.WithoutCancel(ctx)); err == nil {
			var n int64
			n, err = file.Save(c)
			saved.CheckpointBytes = uint64(n)
		}
	}
	err = errors.Join(err, s.Close())
	counts := s.Resident().Stats()
	saved.Checkpoints, saved.CheckpointBytes = counts.Checkpoints, saved.CheckpointBytes+counts.CheckpointBytes
	return saved, err
}

func (s *waveSaved) print(w io.Writer) {
	if s.ResumedAt > 0 {
		fmt.Fprintf(w, "resumed\tat step %d\n", s.ResumedAt)
	}
	if s.Checkpoints > 0 {
		fmt.Fprintf(w, "checkpoints\t%d, %s written\n", s.Checkpoints, cli.ReadableBytes(int64(s.CheckpointBytes)))
	}
}
