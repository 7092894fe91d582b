package main

import (
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/shader/manifest"
)

// sourceReader reads the programs that arguments name, built-in ones included.
func sourceReader(f *cli.SourceFlags) manifest.Reader {
	return manifest.Reader{
		FileOptions:  f.Options(),
		Builtin:      conv2d.Builtin,
		BuiltinNames: conv2d.BuiltinNames(),
	}
}
