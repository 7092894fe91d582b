//go:build linux

package interpreter

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// The memory of the machines on the device: with Options.MachinePerGroup one after the
// other, else in rows with 8 bytes of each machine.

// uploadBytes is the approximate size of one upload.
const uploadBytes = 1 << 20

// writeAllMachines writes data to the memory of every machine, from an address that is a
// multiple of 8. Data is padded with zeros to a multiple of 8.
func (v *Interpreter) writeAllMachines(gl *glctx.GL, data []byte, address int) {
	n := v.options.Machines
	if v.options.MachinePerGroup {
		padded := append(bytes.Clone(data), make([]byte, -len(data)&7)...)
		for machine := range n {
			gl.Upload(v.mu.buffers[bindMemory], machine*v.options.MemoryBytes+address, padded)
		}
		return
	}
	perPiece := max(1, uploadBytes/(8*n))
	for start := 0; start < len(data); start += 8 * perPiece {
		piece := data[start:min(len(data), start+8*perPiece)]
		rows := make([]uint64, 0, (len(piece)+7)/8*n)
		for at := 0; at < len(piece); at += 8 {
			var word [8]byte
			copy(word[:], piece[at:])
			for range n {
				rows = append(rows, binary.LittleEndian.Uint64(word[:]))
			}
		}
		gl.Upload(v.mu.buffers[bindMemory], (address+start)*n, glctx.Bytes(rows))
	}
}

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
		if v.options.MachinePerGroup {
			for i, d := range dst {
				gl.Download(v.mu.buffers[bindMemory], (first+i)*v.options.MemoryBytes+int(address), d)
			}
			return gl.Err()
		}
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
		if n == 1 || v.options.MachinePerGroup {
			gl.Upload(v.mu.buffers[bindMemory], machine*v.options.MemoryBytes+int(address), data)
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
