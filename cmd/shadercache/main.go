// Command shadercache fills, shows and trims the cache of compiled GPU
// programs, filters pictures with it, and measures what it saves.
package main

import "os"

func main() { os.Exit(Main()) }

// Main runs the command with os.Args and returns its exit code.
func Main() int {
	out := &output{Writer: os.Stdout}
	o := &options{stdout: out, stderr: os.Stderr}
	err := newRoot(o).Execute()
	if err == nil {
		err = out.err
	}
	return report(o.stderr, err)
}
