// Command shadercache fills, shows and trims the cache of compiled GPU
// programs, filters pictures with it, and measures what it saves.
package main

import (
	"math"
	"os"

	"github.com/shadercache/shadercache/cmd/cli"
	_ "github.com/shadercache/shadercache/cmd/cli/schemes"
	"github.com/shadercache/shadercache/drivercache"
)

func main() {
	o := &options{cli.Process()}
	code := o.Main(newRoot(o))
	drivercache.AwaitRecords(math.MaxInt64) // the end of the process would wait for the disk, and lose the record
	os.Exit(code)
}
