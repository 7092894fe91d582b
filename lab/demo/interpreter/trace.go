//go:build linux

package interpreter

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/glctx"
)

// traceEntryBytes is the size of an entry of the Trace buffer: two uvec4.
const traceEntryBytes = 32

// TraceEntry is one instruction that the traced machine executed.
type TraceEntry struct {
	Cycle uint64 // number of the instruction in the machine, from 1
	PC    uint64
	Text  string // disassembled
	Flags uint32 // NZCV after it
	Slot  int    // register that it writes or stores: 0 to 30, or 31 for sp; other values are none
	Value uint64 // of the register after it
}

// String returns the entry as a line.
func (e TraceEntry) String() string {
	line := fmt.Sprintf("%8d  %#06x  %-28s %04b", e.Cycle, e.PC, e.Text, e.Flags)
	if e.Slot <= slotSP {
		line += fmt.Sprintf("  %s=%#x", slotName(uint8(e.Slot)), e.Value)
	}
	return line
}

// Trace returns the last instructions of the traced machine, up to Options.TraceEntries,
// the oldest first.
func (v *Interpreter) Trace(ctx context.Context) ([]TraceEntry, error) {
	words := make([]uint32, v.options.TraceEntries*traceEntryBytes/4)
	if len(words) == 0 {
		return nil, nil
	}
	err := v.doGL(ctx, func(gl *glctx.GL) error {
		gl.MemoryBarrier(glctx.BarrierUpdate)
		gl.Download(v.mu.buffers[bindTrace], 0, glctx.Bytes(words))
		return gl.Err()
	})
	if err != nil {
		return nil, err
	}
	var entries []TraceEntry
	for w := words; len(w) > 0; w = w[traceEntryBytes/4:] {
		at := int(w[2])
		if cycle := wide(w[0], w[1]); cycle != 0 && at < len(v.mu.code) {
			e := TraceEntry{Cycle: cycle, PC: v.address(w[2]), Flags: w[3], Value: wide(w[4], w[5]), Slot: int(w[6])}
			e.Text = Disassemble(v.mu.code[at], e.PC)
			if op := decode(v.mu.code[at]).op; op != add && op != load && op != store {
				e.Slot = slotNone
			}
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b TraceEntry) int { return cmp.Compare(a.Cycle, b.Cycle) })
	return entries, nil
}
