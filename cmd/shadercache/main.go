// Command shadercache fills, shows and trims the cache of compiled GPU
// programs, filters pictures with it, and measures what it saves.
package main

import "os"

func main() { os.Exit(Main()) }

// Main runs the command with os.Args and returns its exit code.
func Main() int {
	o := &options{stdout: os.Stdout, stderr: os.Stderr}
	err := newRoot(o).Execute()
	return report(o.stderr, err)
}
