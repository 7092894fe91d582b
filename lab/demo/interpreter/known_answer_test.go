//go:build linux

package interpreter

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/executor/kernelset"
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
	code, err := Assemble("test", "movz x2, #32\nadd x3, x0, #5\nstr x3, [x2]\nldr x1, [x2]\nhlt #0")
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

// checkKnown runs the check of every program that the machines may use.
func (v *Interpreter) checkKnown(t testing.TB) {
	t.Helper()
	for _, p := range v.options.allParts() {
		handles, err := kernelset.Get(t.Context(), v.programs, kernels, v.options.kernel(p))
		if err != nil {
			t.Fatal(err)
		}
		if err := v.check(t.Context(), handles[0], p); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
		kernelset.Release(handles...)
	}
}

// allParts are the kernels for all code.
func (o Options) allParts() []parts {
	all := parts{true, true}
	switch {
	case o.MachinePerGroup:
		return []parts{all}
	case o.Vectors:
		return []parts{{}, {memory: true}, all}
	}
	return []parts{{}, {memory: true}}
}

// The machines of the check end in every way.
func TestCheckedCode(t *testing.T) {
	for _, c := range []struct {
		options Options
		text    string
		ends    []Signal
	}{
		{Options{}, checkedSums, []Signal{SignalSyscall, SignalHalt, SignalCheckpoint}},
		{Options{}, checkedMemory, []Signal{SignalSyscall, SignalFault, SignalCheckpoint}},
		{Options{Vectors: true}, checkedVectors + checkedMemory, []Signal{SignalSyscall, SignalFault, SignalCheckpoint}},
		{Options{Watchpoints: true}, checkedMemory, []Signal{SignalWatch, SignalFault, SignalCheckpoint}},
	} {
		setup, err := c.options.checkedSetup(c.text)
		if err != nil {
			t.Fatal(err)
		}
		ends := map[Signal]int{}
		for m := range checkedMachines {
			r, err := setup.reference(m, checkedBytes)
			if err != nil {
				t.Fatal(err)
			}
			r.Vectors = c.options.Vectors
			r.Run(checkedCycles)
			ends[r.Signal]++
		}
		for _, s := range c.ends {
			if ends[s] == 0 {
				t.Errorf("%+v: machines end by %v", c.options, ends)
			}
		}
	}
}

// The kernel has the parts that the code needs.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		options Options
		text    string
		want    parts
	}{
		{Options{}, "l: add x0, x0, #1\nsvc #1\nb l", parts{}},
		{Options{}, "ldr x0, [x1]", parts{memory: true}},
		{Options{}, "b l\nl: str x0, [x1]", parts{memory: true}},
		{Options{}, "dup z0.d, x1", parts{}}, // undefined
		{Options{Vectors: true}, "add x0, x0, #1", parts{}},
		{Options{Vectors: true}, "dup z0.d, x1", parts{true, true}},
		{Options{Vectors: true, MachinePerGroup: true}, "add x0, x0, #1", parts{true, true}},
	} {
		code := assemble(t, c.text)
		words := make([]uint32, len(code)/4)
		for i := range words {
			words[i] = binary.LittleEndian.Uint32(code[4*i:])
		}
		if got := c.options.partsFor(words); got != c.want {
			t.Errorf("%q with %+v needs %+v, should be %+v", c.text, c.options, got, c.want)
		}
	}
}

// BenchmarkKnownAnswer measures what the first start with a binary spends on its check.
func BenchmarkKnownAnswer(b *testing.B) {
	for _, o := range []Options{{}, {MachinePerGroup: true}} {
		v := newMachines(b, o)
		for _, p := range o.allParts() {
			handles, err := kernelset.Get(b.Context(), v.programs, kernels, o.kernel(p))
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%s/memory=%v", handles[0].Name(), p.memory), func(b *testing.B) {
				for b.Loop() {
					if err := v.check(b.Context(), handles[0], p); err != nil {
						b.Fatal(err)
					}
				}
			})
			kernelset.Release(handles...)
		}
	}
}
