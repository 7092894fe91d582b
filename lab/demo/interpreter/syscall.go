//go:build linux

package interpreter

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/glctx"
)

// callRegisters is the number of registers that are passed to handlers and back.
const callRegisters = 8

// Call is a system call of a machine that has stopped at an SVC.
type Call struct {
	Machine int
	Number  uint16
	PC      uint64                // of the SVC
	X       [callRegisters]uint64 // x0 to x7, which are written back after the handler
	Halt    bool                  // set by a handler to stop the machine as at a HLT

	interpreter *Interpreter
	ctx         context.Context
}

// Handler serves a system call. It is called on the goroutine of the run function, while no
// machine runs, and must not call the Interpreter, except through the Call. An error ends
// the run, and the next run calls the handler again for the same SVC.
type Handler func(c *Call) error

// Handle sets the handler of an SVC with a number; nil removes it. An SVC without a handler
// stops its machine with SignalSyscall.
func (v *Interpreter) Handle(number uint16, h Handler) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if h == nil {
		delete(v.mu.handlers, number)
		return
	}
	v.mu.handlers[number] = h
}

// Read reads the machine's memory: see Interpreter.ReadMemory.
func (c *Call) Read(address uint64, dst []byte) error {
	return c.interpreter.readMachines(c.ctx, c.Machine, address, [][]byte{dst})
}

// Write writes the machine's memory: see Interpreter.WriteMemory.
func (c *Call) Write(address uint64, data []byte) error {
	return c.interpreter.writeMemory(c.ctx, c.Machine, address, data)
}

// callStates are the rows of all machines that handlers use.
type callStates struct {
	pc, signal, detail []uint32
	x                  [callRegisters][]uint64
}

// serveAll calls the handlers of all machines that have stopped at an SVC with one, and
// returns the number of calls.
func (v *Interpreter) serveAll(ctx context.Context) (int, error) {
	var w callStates
	err := v.context.Do(func(gl *glctx.GL) error {
		gl.MemoryBarrier(glctx.BarrierUpdate)
		w.pc, w.signal, w.detail = v.row(gl, rowPC), v.row(gl, rowSignal), v.row(gl, rowDetail)
		for i := range w.x {
			w.x[i] = make([]uint64, v.options.Machines)
			gl.Download(v.mu.buffers[bindRegisters], i*8*v.options.Machines, glctx.Bytes(w.x[i]))
		}
		return gl.Err()
	})
	if err != nil {
		return 0, err
	}
	served, failed := v.serveEach(ctx, &w)
	if served == 0 {
		return 0, failed
	}
	err = v.context.Do(func(gl *glctx.GL) error {
		v.putRow(gl, rowPC, w.pc)
		v.putRow(gl, rowSignal, w.signal)
		for i, row := range w.x {
			gl.Upload(v.mu.buffers[bindRegisters], i*8*len(row), glctx.Bytes(row))
		}
		return gl.Err()
	})
	if failed != nil {
		err = failed
	}
	return served, err
}

func (v *Interpreter) serveEach(ctx context.Context, w *callStates) (int, error) {
	served := 0
	for m, signal := range w.signal {
		h := v.mu.handlers[uint16(w.detail[m])]
		if Signal(signal) != SignalSyscall || h == nil {
			continue
		}
		c := &Call{Machine: m, Number: uint16(w.detail[m]), PC: v.address(w.pc[m]), interpreter: v, ctx: ctx}
		for i := range c.X {
			c.X[i] = w.x[i][m]
		}
		if err := h(c); err != nil {
			return served, fmt.Errorf("interpreter: machine %d, svc #%d at %#x: %w", m, c.Number, c.PC, err)
		}
		for i := range c.X {
			w.x[i][m] = c.X[i]
		}
		w.pc[m]++
		w.signal[m] = uint32(SignalRunning)
		if c.Halt {
			w.pc[m]--
			w.signal[m] = uint32(SignalHalt)
		}
		served++
	}
	return served, nil
}
