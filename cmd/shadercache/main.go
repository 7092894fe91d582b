// Command shadercache fills, shows and trims the cache of compiled GPU
// programs, filters pictures with it, and measures what it saves.
package main

import (
	"os"

	"github.com/shadercache/shadercache/cmd/cli"
	_ "github.com/shadercache/shadercache/cmd/cli/schemes"
)

func main() {
	o := &options{cli.Process()}
	os.Exit(o.Main(newRoot(o)))
}
