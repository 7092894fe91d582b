package server

import (
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/server/wire"
	"github.com/shadercache/shadercache/shader"
)

// checkProtocol refuses a program with bindings that the protocol has no message for.
func checkProtocol(program *cache.Handle) error {
	for _, r := range program.Interface().Resources {
		kind := ""
		switch {
		case r.Kind == shader.AtomicCounter:
			kind = "atomic counters"
		case r.Opaque() == shader.ImageOpaque:
			kind = "image " + r.Name
		case r.Opaque() == shader.SamplerOpaque:
			kind = "sampler " + r.Name
		case r.Kind == shader.Uniform && r.Binding >= 0 && (r.Bytes > 1 || r.Type.Components() > 1):
			kind = "uniform " + r.Name + ", a " + r.Type.String()
		default:
			continue
		}
		return &wire.Error{
			Code:    wire.CodeInvalid,
			Message: "program " + program.Name() + " has the " + kind + ": jobs of a server bind storage blocks, one uniform block and scalar uniforms",
			Hint:    "put the values into a block, or run the job with an executor in this process",
		}
	}
	if program.WorkGroup()[0] == 0 {
		return reject(wire.CodeInvalid, "program %s has local_size_variable, which jobs of a server cannot set", program.Name())
	}
	return nil
}
