//go:build linux

package interpreter

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

func init() {
	faultgl.OnProcess("interpreter", func(dir string) (faultgl.Counters, error) {
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
		if err != nil {
			return faultgl.Counters{}, err
		}
		for _, o := range []Options{{}, {MachinePerGroup: true}} {
			err = errors.Join(err, addInMachines(context.Background(), gpu, o))
		}
		c := gpu.Cache.Stats().Counters
		return faultgl.Counters{Compiles: c.Compiles, DiskHits: c.DiskHits, WrongAnswers: c.WrongAnswers}, errors.Join(err, gpu.Close())
	})
}

// addInMachines adds 5 to the number of each machine.
func addInMachines(ctx context.Context, gpu *shadercache.GPU, o Options) error {
	o.Machines, o.MemoryBytes = 70, 64
	v, err := New(ctx, gpu.Context, gpu.Cache, o)
	if err != nil {
		return err
	}
	defer v.Close()
	code, err := Assemble("test", "add x1, x0, #5\nhlt #0")
	if err != nil {
		return err
	}
	setup := Setup{Code: code, Registers: []RegisterSetting{{machine: true}}}
	if err := setup.Apply(ctx, v); err != nil {
		return err
	}
	if _, err := v.RunMega(ctx, 10); err != nil {
		return err
	}
	states, err := v.MachineStates(ctx)
	for m, s := range states {
		if s.X[1] != uint64(m+5) {
			err = fmt.Errorf("machine %d has %d", m, s.X[1])
		}
	}
	return err
}

// A driver that accepts the binary of an interpreter and computes wrong costs a compile.
func TestLoadedInterpretersGiveKnownAnswers(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	faultgl.TestKnownAnswers(t, "interpreter", "#version", 2)
}

// checkKnown runs the check of a program that was loaded.
func (v *Interpreter) checkKnown(t *testing.T) {
	t.Helper()
	if err := v.check(t.Context(), []*cache.Handle{v.program}); err != nil {
		t.Error(err)
	}
}

// The machines of the check end in every way.
func TestCheckedProgram(t *testing.T) {
	for _, o := range []Options{{}, {Vectors: true}, {Watchpoints: true}} {
		setup, err := o.checkedSetup()
		if err != nil {
			t.Fatal(err)
		}
		ends := map[Signal]int{}
		for m := range checkedMachines {
			r, err := setup.reference(m, checkedBytes)
			if err != nil {
				t.Fatal(err)
			}
			r.Vectors = o.Vectors
			r.Run(checkedCycles)
			ends[r.Signal]++
		}
		stored := SignalSyscall
		if o.Watchpoints {
			stored = SignalWatch
		}
		if ends[stored] == 0 || ends[SignalFault] == 0 || ends[SignalCheckpoint] == 0 {
			t.Errorf("%+v: machines end by %v", o, ends)
		}
	}
}

// BenchmarkKnownAnswer measures what the first start with a binary spends on its check.
func BenchmarkKnownAnswer(b *testing.B) {
	for _, o := range []Options{{}, {MachinePerGroup: true}} {
		v := newMachines(b, o)
		b.Run(o.kernel().Name, func(b *testing.B) {
			for b.Loop() {
				if err := v.check(b.Context(), []*cache.Handle{v.program}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
