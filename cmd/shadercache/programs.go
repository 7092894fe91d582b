package main

import (
	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/shader/manifest"
)

// sourceFlags say how shader files are read, for every command that reads them.
type sourceFlags struct {
	defines defineFlag
	include []string
}

func (f *sourceFlags) add(cmd *cobra.Command) {
	f.defines = defineFlag{}
	cmd.Flags().VarP(f.defines, "define", "D", "define a preprocessor `NAME=VALUE` for all files")
	cmd.Flags().StringArrayVarP(&f.include, "include", "I", nil, "search `DIR` for #include, after the folder of the file (repeatable)")
	_ = cmd.MarkFlagDirname("include")
}

func (f *sourceFlags) options() shader.FileOptions {
	return shader.FileOptions{Defines: shader.Defines(f.defines), Include: f.include, Shipped: shippedIncludes{}}
}

// reader reads the programs that arguments name, built-in ones included.
func (f *sourceFlags) reader() manifest.Reader {
	return manifest.Reader{
		FileOptions:  f.options(),
		Builtin:      conv2d.Builtin,
		BuiltinNames: conv2d.BuiltinNames(),
	}
}
