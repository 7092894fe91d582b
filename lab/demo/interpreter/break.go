//go:build linux

package interpreter

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/shadercache/shadercache/glctx"
)

// Break sets a breakpoint at an address in the code: machines stop before the
// instruction there.
func (v *Interpreter) Break(ctx context.Context, address uint64) error {
	return v.setBreaks(ctx, func(breaks map[int]bool) error {
		at := (address - v.mu.base) / 4
		if address%4 != 0 || address < v.mu.base || at >= uint64(len(v.mu.code)) {
			return fmt.Errorf("interpreter: no instruction at %#x for a breakpoint", address)
		}
		breaks[int(at)] = true
		return nil
	})
}

// ClearBreaks removes all breakpoints.
func (v *Interpreter) ClearBreaks(ctx context.Context) error {
	return v.setBreaks(ctx, func(breaks map[int]bool) error {
		clear(breaks)
		return nil
	})
}

func (v *Interpreter) setBreaks(ctx context.Context, change func(map[int]bool) error) error {
	return v.doGL(ctx, func(gl *glctx.GL) error {
		if len(v.mu.code) == 0 {
			return ErrNoCode
		}
		breaks := maps.Clone(v.mu.breaks)
		if err := change(breaks); err != nil {
			return err
		}
		v.mu.breaks = breaks
		gl.Upload(v.mu.buffers[bindCode], 0, glctx.Bytes(kernelCode(v.mu.code, breaks, v.options.Vectors)))
		return gl.Err()
	})
}

// Watch makes every machine stop after a store into n bytes at address, both multiples of
// 8. It replaces the previous range; n of 0 removes it. It needs Options.Watchpoints.
func (v *Interpreter) Watch(ctx context.Context, address uint64, n int) error {
	if !v.options.Watchpoints {
		return errors.New("interpreter: watch: Options.Watchpoints is not set")
	}
	watch, err := newWordRange(address, n, v.options.MemoryBytes)
	if err != nil {
		return err
	}
	return v.doGL(ctx, func(*glctx.GL) error {
		v.mu.watch = watch
		return nil
	})
}
