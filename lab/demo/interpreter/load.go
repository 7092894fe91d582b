//go:build linux

package interpreter

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/shadercache/shadercache/glctx"
)

// Load writes code, little-endian instructions, to the memory of every machine at base, a
// multiple of 8, and resets the machines: other memory, registers, flags and counts are
// 0, the program counter is base, breakpoints and the watched range are removed. The kernel
// has what the code needs; it is loaded, or compiled, at the first code that needs this.
func (v *Interpreter) Load(ctx context.Context, code []byte, base uint64) error {
	if err := checkCode(code, base, v.options.MemoryBytes); err != nil {
		return err
	}
	raw := make([]uint32, len(code)/4)
	for i := range raw {
		raw[i] = binary.LittleEndian.Uint32(code[4*i:])
	}
	program, err := v.getProgram(ctx, raw)
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	replaced := program
	defer func() {
		if replaced != nil {
			replaced.Release()
		}
	}()
	return v.doGLLocked(ctx, func(gl *glctx.GL) error {
		decoded, err := gl.NewBuffer(16*len(raw), glctx.Bytes(kernelCode(raw, nil, v.options.Vectors)))
		if err != nil {
			return fmt.Errorf("interpreter: load %d instructions: %w", len(raw), err)
		}
		gl.DeleteBuffer(v.mu.buffers[bindCode])
		v.mu.buffers[bindCode] = decoded
		v.mu.code, v.mu.base = raw, base
		replaced, v.mu.program = v.mu.program, program
		clear(v.mu.breaks)
		v.mu.watch = wordRange{}
		clear(v.mu.cycles)
		v.mu.waiting = false
		for _, b := range []int{bindRegisters, bindMachines, bindMemory, bindTrace, bindVectors} {
			if v.mu.buffers[b].Size > 0 {
				gl.Fill(v.mu.buffers[b], 0)
			}
		}
		v.writeAllMachines(gl, code, int(base))
		return gl.Err()
	})
}

// kernelCode returns the encoding of code for the kernel.
func kernelCode(raw []uint32, breaks map[int]bool, vectors bool) []uint32 {
	words := make([]uint32, 0, 4*len(raw))
	for at, r := range raw {
		in := decode(r)
		if in.op == vector && !vectors {
			in = instruction{}
		}
		encoded := in.kernelWords(r, at)
		if breaks[at] {
			encoded[0] |= bitBreak
		}
		words = append(words, encoded[:]...)
	}
	return words
}

// SetPC sets the program counter of every machine, a multiple of 4, and clears their
// signals. A program counter outside the code is a fault of the machine when it runs.
func (v *Interpreter) SetPC(ctx context.Context, pc uint64) error {
	return v.doGL(ctx, func(gl *glctx.GL) error {
		distance := int64(pc-v.mu.base) / 4
		if pc%4 != 0 || distance < math.MinInt32 || distance > math.MaxInt32 {
			return fmt.Errorf("interpreter: pc %#x: it must be a multiple of 4 near the code at %#x", pc, v.mu.base)
		}
		n := v.options.Machines
		row := make([]uint32, n)
		v.putRow(gl, rowSignal, row)
		for i := range row {
			row[i] = uint32(distance)
		}
		v.putRow(gl, rowPC, row)
		return gl.Err()
	})
}

// SetRegisters sets a register of every machine: 0 to 30, or 31 for SP.
func (v *Interpreter) SetRegisters(ctx context.Context, register int, value func(machine int) uint64) error {
	if register < 0 || register >= registerRows {
		return fmt.Errorf("interpreter: there is no register %d: use 0 to 30, or 31 for sp", register)
	}
	row := make([]uint64, v.options.Machines)
	for m := range row {
		row[m] = value(m)
	}
	return v.doGL(ctx, func(gl *glctx.GL) error {
		gl.Upload(v.mu.buffers[bindRegisters], register*8*len(row), glctx.Bytes(row))
		return gl.Err()
	})
}
