package main

import (
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

// programReader reads the programs that arguments name, built-in ones included.
func programReader(defines defineFlag) manifest.Reader {
	return manifest.Reader{
		Defines:      shader.Defines(defines),
		Builtin:      conv2d.Builtin,
		BuiltinNames: conv2d.BuiltinNames(),
	}
}
