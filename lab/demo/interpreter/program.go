//go:build linux

package interpreter

import (
	"context"
	"embed"
	"fmt"
	"strconv"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/executor/kernelset"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels
var kernels embed.FS

// lanes is LANES of interpreter.comp.
const lanes = 64

// parts are the parts of the kernel that some code does without. Each combination is a
// program of its own: a kernel with parts that are never used is slower.
type parts struct {
	memory  bool // loads and stores
	vectors bool // instructions on vectors, which come with memory
}

// partsFor returns the parts that the code needs.
func (o Options) partsFor(code []uint32) parts {
	p := parts{memory: o.MachinePerGroup, vectors: o.MachinePerGroup}
	for _, raw := range code {
		switch decode(raw).op {
		case load, store:
			p.memory = true
		case vector:
			p.vectors = p.vectors || o.Vectors
		}
	}
	p.memory = p.memory || p.vectors
	return p
}

// kernel returns the kernel that runs machines with these options.
func (o Options) kernel(p parts) kernelset.Kernel {
	name, defines := "interpreter", shader.Defines{"LANES": strconv.Itoa(lanes)}
	if o.MachinePerGroup {
		name, defines = "interpreter_group", shader.Defines{}
	}
	if p.vectors {
		defines["VECTORS"] = "1"
	}
	if !p.memory {
		defines["MEMORY"] = "0"
	}
	if o.TraceEntries > 0 {
		defines["TRACE"] = strconv.Itoa(o.TraceEntries)
	}
	if o.Watchpoints {
		defines["WATCH"] = "1"
	}
	if o.Int64 {
		defines["INT64"] = "1"
	}
	if o.RegisterArray {
		defines["REGISTERS"] = "IN_ARRAY"
	}
	if o.Prefetch {
		defines["AHEAD"] = "1"
	}
	return kernelset.Kernel{Name: name, Defines: defines}
}

// getProgram returns the program that runs the code. The caller releases it.
func (v *Interpreter) getProgram(ctx context.Context, code []uint32) (*cache.Handle, error) {
	if program, ok := v.programs.(checkedProgram); ok {
		return program.handle.Retain(), nil
	}
	p := v.options.partsFor(code)
	check := func(ctx context.Context, handles []*cache.Handle) error { return v.check(ctx, handles[0], p) }
	handles, err := kernelset.GetChecked(ctx, v.programs, kernels, check, v.options.kernel(p))
	if err != nil {
		return nil, fmt.Errorf("interpreter: %w", err)
	}
	return handles[0], nil
}

// checkedProgram provides the program that is being checked.
type checkedProgram struct {
	executor.Programs
	handle *cache.Handle
}
