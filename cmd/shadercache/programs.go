package main

import (
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

// sourceFlags say how shader files are read, for every command that reads them.
type sourceFlags struct {
	Defines defineFlag `flag:"define,D" help:"define a preprocessor NAME=VALUE for all files" value:"NAME=VALUE"`
	Include []string   `flag:"include,I" help:"search DIR for #include, after the folder of the file (repeatable)" value:"DIR" files:"/"`
}

func (f *sourceFlags) options() shader.FileOptions {
	return shader.FileOptions{Defines: shader.Defines(f.Defines), Include: f.Include, Shipped: shippedIncludes{}}
}

// reader reads the programs that arguments name, built-in ones included.
func (f *sourceFlags) reader() manifest.Reader {
	return manifest.Reader{
		FileOptions:  f.options(),
		Builtin:      conv2d.Builtin,
		BuiltinNames: conv2d.BuiltinNames(),
	}
}
