// Command generate writes a corpus of compute shaders into a directory.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/shadercache/shadercache/lab/corpus"
)

func main() {
	var o corpus.Options
	flag.IntVar(&o.Programs, "programs", 1500, "programs that compile, with different texts")
	flag.Uint64Var(&o.Seed, "seed", 1, "choice and order of the programs")
	flag.BoolVar(&o.Faults, "faults", false, "add programs with markers that a driver with faults fails on")
	flag.BoolVar(&o.Heavy, "heavy", false, "add programs that need minutes or gigabytes to compile")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./lab/corpus/generate [flags] DIR")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	contents, err := corpus.Generate(flag.Arg(0), o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
	fmt.Printf("%+v\n", contents)
}
