//go:build linux

package interpreter

import (
	"context"
	"errors"

	"github.com/shadercache/shadercache/glctx"
)

// row returns a row of the Machines buffer.
func (v *Interpreter) row(gl *glctx.GL, number int) []uint32 {
	row := make([]uint32, v.options.Machines)
	gl.Download(v.mu.buffers[bindMachines], number*4*len(row), glctx.Bytes(row))
	return row
}

func (v *Interpreter) putRow(gl *glctx.GL, number int, row []uint32) {
	gl.Upload(v.mu.buffers[bindMachines], number*4*len(row), glctx.Bytes(row))
}

// address returns the address of instruction at, which may be outside the code.
func (v *Interpreter) address(at uint32) uint64 {
	return v.mu.base + uint64(int64(int32(at)))*4
}

// MachineStates returns the state of every machine.
func (v *Interpreter) MachineStates(ctx context.Context) ([]MachineState, error) {
	states := make([]MachineState, v.options.Machines)
	err := v.doGL(ctx, func(gl *glctx.GL) error {
		v.states(gl, states)
		return gl.Err()
	})
	return states, err
}

func (v *Interpreter) states(gl *glctx.GL, states []MachineState) {
	gl.MemoryBarrier(glctx.BarrierUpdate)
	var rows [rowCount][]uint32
	for i := range rows {
		rows[i] = v.row(gl, i)
	}
	registers := make([]uint64, registerRows*len(states))
	gl.Download(v.mu.buffers[bindRegisters], 0, glctx.Bytes(registers))
	for m := range states {
		s := MachineState{
			PC:     v.address(rows[rowPC][m]),
			Flags:  rows[rowFlags][m],
			Signal: Signal(rows[rowSignal][m]),
			Cycles: wide(rows[rowCycles][m], rows[rowCycles+1][m]),
		}
		switch s.Signal {
		case SignalFault:
			s.Fault = Fault(rows[rowDetail][m])
			s.Address = wide(rows[rowAddress][m], rows[rowAddress+1][m])
		case SignalWatch:
			s.Address = wide(rows[rowAddress][m], rows[rowAddress+1][m])
		case SignalHalt, SignalSyscall:
			s.Number = uint16(rows[rowDetail][m])
		}
		for i := range s.X {
			s.X[i] = registers[i*len(states)+m]
		}
		s.SP = registers[31*len(states)+m]
		states[m] = s
	}
}

func wide(low, high uint32) uint64 { return uint64(high)<<32 | uint64(low) }

// ReadVectors reads the vector registers of successive machines, from first on. It needs
// Options.Vectors.
func (v *Interpreter) ReadVectors(ctx context.Context, first int, dst ...*VectorRegisters) error {
	if !v.options.Vectors {
		return errors.New("interpreter: read vector registers: Options.Vectors is not set")
	}
	for i := range dst {
		if err := v.checkAccess(first+i, 0, 0); err != nil {
			return err
		}
	}
	return v.doGL(ctx, func(gl *glctx.GL) error {
		gl.MemoryBarrier(glctx.BarrierUpdate)
		if v.options.MachinePerGroup {
			for i, d := range dst {
				for number := range d {
					gl.Download(v.mu.buffers[bindVectors], ((first+i)*len(d)+number)*vectorBytes, glctx.Bytes(d[number][:]))
				}
			}
			return gl.Err()
		}
		row := make([]uint64, v.options.Machines)
		for at := range registerRows * VectorElements {
			gl.Download(v.mu.buffers[bindVectors], at*8*len(row), glctx.Bytes(row))
			for i, d := range dst {
				d[at/VectorElements][at%VectorElements] = row[first+i]
			}
		}
		return gl.Err()
	})
}
