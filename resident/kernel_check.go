//go:build linux

package resident

import (
	"context"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// getProgram gets the program of a kernel, and compiles it if what was loaded fails the
// kernel's check.
func (k Kernel) getProgram(ctx context.Context, c *glctx.Context, programs executor.Programs, o Options) (program *cache.Handle, err error) {
	if k.Check == nil {
		return programs.Get(ctx, k.Source)
	}
	source := k.Source.WithCheck(kernelset.CheckLater)
	get := func() ([]*cache.Handle, error) {
		program, err = programs.Get(ctx, source)
		return []*cache.Handle{program}, err
	}
	release := func() { program.Release() }
	check := func(ctx context.Context) error { return k.runCheck(ctx, c, oneProgram{program}, o) }
	if err := kernelset.Checked(ctx, programs, get, release, check); err != nil {
		program.Release()
		return nil, err
	}
	return program, nil
}

// runCheck runs the check in a session of its own.
func (k Kernel) runCheck(ctx context.Context, c *glctx.Context, program oneProgram, o Options) error {
	check := k.Check
	k.Check = nil
	s, err := New(ctx, c, program, k, Options{Strategy: o.Strategy, Capabilities: o.Capabilities, Timeout: o.Timeout, test: o.test})
	if err != nil {
		return err
	}
	defer s.Close() // without checkpoints it returns no error
	return check(ctx, s)
}

// oneProgram provides a program that is there already.
type oneProgram struct{ handle *cache.Handle }

func (p oneProgram) Get(context.Context, *shader.Source) (*cache.Handle, error) {
	return p.handle.Retain(), nil
}
