package interpreter

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// Options configure an Interpreter. The zero value is one machine with 4 MiB.
type Options struct {
	// Machines is the number of machines, each with registers and memory of its own.
	// Default: 1.
	Machines int

	// MemoryBytes is the size of the memory of each machine, a multiple of 8. The
	// memory of all must fit into one storage buffer. Default: 4 MiB.
	MemoryBytes int

	// BatchCycles is the largest number of instructions of each machine in a batch.
	// The host detects a signal when the batch has ended. Default: 10,000,000, on software
	// drivers 1,000,000.
	BatchCycles int

	// DispatchCycles is the largest number of instructions in a dispatch; a longer
	// batch is several dispatches. Default: 1 << 26. Software drivers, some of which
	// silently end loops after 65,535 iterations: 60,000; with MachinePerGroup 20,000; else
	// with Vectors 1,800.
	DispatchCycles int

	// Vectors has the machines execute instructions on vectors: see the package
	// documentation. Else they are undefined. Default: off, and on with MachinePerGroup.
	Vectors bool

	// MachinePerGroup runs each machine on a work group, whose invocations share the
	// instructions on vectors, instead of on an invocation. The result is the same.
	MachinePerGroup bool

	// TraceEntries is the size of the ring buffer with the last instructions of
	// TraceMachine, up to 1 << 20. Tracing slows down every instruction. Default: 0, no
	// trace.
	TraceEntries int
	TraceMachine int

	// Int64 adds with 64-bit integers of GL_ARB_gpu_shader_int64, instead of two 32-bit
	// halves. Load fails where the driver lacks it. The result is the same.
	Int64 bool

	// Watchpoints compiles the checks for Watch: two comparisons with every store.
	Watchpoints bool

	// Progress is called by a run function after each batch, on its goroutine, with
	// the number of instructions of each machine that the batches so far were for,
	// except batches that a system call ended. It must not call the Interpreter.
	// Default: no calls.
	Progress func(done, of uint64)

	// RegisterArray keeps registers in an array of the invocation, not in shared memory.
	RegisterArray bool

	// Prefetch fetches the next instruction while one is executed.
	Prefetch bool
}

func (o Options) withDefaults(info glctx.Info) Options {
	if o.Machines == 0 {
		o.Machines = 1
	}
	if o.MemoryBytes == 0 {
		o.MemoryBytes = 4 << 20
	}
	o.Vectors = o.Vectors || o.MachinePerGroup
	software := info.Software()
	if o.BatchCycles == 0 {
		o.BatchCycles = 10_000_000
		if software {
			o.BatchCycles = 1_000_000
		}
	}
	if o.DispatchCycles == 0 {
		o.DispatchCycles = 1 << 26
		if software {
			o.DispatchCycles = o.loopCycles()
		}
	}
	return o
}

// loopCycles returns instructions whose loops take less than 65,535 turns: one turn of the
// loop over instructions each; on vectors, with an invocation for each machine,
// VectorElements + 1 more; with a group for each machine, one to publish it and one to
// leave the leader's loop.
func (o Options) loopCycles() int {
	switch {
	case o.MachinePerGroup:
		return 20_000
	case o.Vectors:
		return 1_800
	}
	return 60_000
}

// groupMachines returns the machines of a work group.
func (o Options) groupMachines() int {
	if o.MachinePerGroup {
		return 1
	}
	return lanes
}

// validate returns an error for options, with defaults, beyond the limits of a device.
func (o Options) validate(info glctx.Info) error {
	if err := checkMemory(o.MemoryBytes); err != nil {
		return err
	}
	limit := int64(info.MaxGroups[0]) * int64(o.groupMachines())
	switch all := int64(o.Machines) * int64(o.MemoryBytes); {
	case o.Machines < 1 || int64(o.Machines) > limit:
		return fmt.Errorf("interpreter: %d machines: this device runs 1 to %d", o.Machines, limit)
	case all/int64(o.Machines) != int64(o.MemoryBytes) || all > info.MaxStorage:
		return fmt.Errorf("interpreter: %d machines with %d bytes of memory each: this device takes %d bytes in all: choose less memory, or fewer machines",
			o.Machines, o.MemoryBytes, info.MaxStorage)
	case o.BatchCycles < 1 || o.BatchCycles > 1<<40:
		return fmt.Errorf("interpreter: batches of %d cycles: 1 to 2^40 are possible", o.BatchCycles)
	case o.DispatchCycles < 1 || o.DispatchCycles >= 1<<31:
		return fmt.Errorf("interpreter: dispatches of %d cycles: 1 to 2^31 - 1 are possible", o.DispatchCycles)
	case o.MachinePerGroup && o.RegisterArray:
		return errors.New("interpreter: the registers of a machine with a work group are in shared memory, not in an array")
	case o.TraceEntries < 0 || o.TraceEntries > 1<<20:
		return fmt.Errorf("interpreter: a trace of %d entries: 0 to %d are possible", o.TraceEntries, 1<<20)
	case o.TraceMachine < 0 || o.TraceMachine >= o.Machines:
		return fmt.Errorf("interpreter: there is no machine %d to trace, only %d machines", o.TraceMachine, o.Machines)
	}
	return nil
}

func checkMemory(n int) error {
	if n < 8 || n%8 != 0 || n > 1<<32 {
		return fmt.Errorf("interpreter: %d bytes of memory: it must be a multiple of 8 from 8 to 2^32", n)
	}
	return nil
}

// checkCode returns an error when code cannot be loaded at base.
func checkCode(code []byte, base uint64, memoryBytes int) error {
	switch {
	case len(code) == 0 || len(code)%4 != 0:
		return fmt.Errorf("interpreter: code of %d bytes: it must be whole instructions of 4 bytes", len(code))
	case base%8 != 0:
		return fmt.Errorf("interpreter: code at %#x: the address must be a multiple of 8", base)
	case base > uint64(memoryBytes) || uint64(len(code)) > uint64(memoryBytes)-base:
		return fmt.Errorf("interpreter: %d bytes of code at %#x: the memory ends at %#x", len(code), base, memoryBytes)
	}
	return nil
}
