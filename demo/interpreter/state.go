//go:build linux

package interpreter

import (
	"context"
	"encoding/binary"
	"fmt"

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

// ReadMemory reads the memory of a machine into dst. Address and length must be multiples
// of 8. It downloads this range of all machines, because their words are interleaved: use
// ReadMachines for several machines.
func (v *Interpreter) ReadMemory(ctx context.Context, machine int, address uint64, dst []byte) error {
	return v.ReadMachines(ctx, machine, address, dst)
}

// ReadMachines reads the same range of the memory of successive machines, from first on,
// into slices of the same length.
func (v *Interpreter) ReadMachines(ctx context.Context, first int, address uint64, dst ...[]byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.readMachines(ctx, first, address, dst)
}

func (v *Interpreter) readMachines(ctx context.Context, first int, address uint64, dst [][]byte) error {
	for i, d := range dst {
		if err := v.checkAccess(first+i, address, len(d)); err != nil {
			return err
		}
		if len(d) != len(dst[0]) {
			return fmt.Errorf("interpreter: read %d bytes of one machine and %d of another: both must have the same length", len(dst[0]), len(d))
		}
	}
	if len(dst) == 0 {
		return nil
	}
	return v.doGLLocked(ctx, func(gl *glctx.GL) error {
		gl.MemoryBarrier(glctx.BarrierUpdate)
		n := v.options.Machines
		perPiece := max(1, uploadBytes/(8*n))
		rows := make([]uint64, perPiece*n)
		for start := 0; start < len(dst[0]); start += 8 * perPiece {
			words := min(perPiece, (len(dst[0])-start)/8)
			gl.Download(v.mu.buffers[bindMemory], (int(address)+start)*n, glctx.Bytes(rows[:words*n]))
			for i := range words {
				for m, d := range dst {
					binary.LittleEndian.PutUint64(d[start+8*i:], rows[i*n+first+m])
				}
			}
		}
		return gl.Err()
	})
}

// WriteMemory writes to the memory of a machine. Address and length must be multiples of
// 8. Writing to the code is an error.
func (v *Interpreter) WriteMemory(ctx context.Context, machine int, address uint64, data []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.writeMemory(ctx, machine, address, data)
}

func (v *Interpreter) writeMemory(ctx context.Context, machine int, address uint64, data []byte) error {
	if err := v.checkAccess(machine, address, len(data)); err != nil {
		return err
	}
	return v.doGLLocked(ctx, func(gl *glctx.GL) error {
		if end := v.mu.base + uint64(4*len(v.mu.code)); address < end && address+uint64(len(data)) > v.mu.base {
			return fmt.Errorf("interpreter: %d bytes at %#x: the code is there", len(data), address)
		}
		n := v.options.Machines
		if n == 1 {
			gl.Upload(v.mu.buffers[bindMemory], int(address), data)
			return gl.Err()
		}
		for at := 0; at < len(data); at += 8 {
			gl.Upload(v.mu.buffers[bindMemory], (int(address)+at)*n+8*machine, data[at:at+8])
		}
		return gl.Err()
	})
}

func (v *Interpreter) checkAccess(machine int, address uint64, n int) error {
	switch {
	case machine < 0 || machine >= v.options.Machines:
		return fmt.Errorf("interpreter: there is no machine %d, only %d machines", machine, v.options.Machines)
	case address%8 != 0 || n%8 != 0:
		return fmt.Errorf("interpreter: %d bytes at %#x: both must be multiples of 8", n, address)
	case address > uint64(v.options.MemoryBytes) || uint64(n) > uint64(v.options.MemoryBytes)-address:
		return fmt.Errorf("interpreter: %d bytes at %#x: the memory ends at %#x", n, address, v.options.MemoryBytes)
	}
	return nil
}
