// Command compare compares a recording with what Mesa says of the same run: MESA_SHADER_CAPTURE_PATH.
// It prints a row of a table: programs, links, links that Mesa captured, how many of them
// differ, and lost lines.
package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/shadercache/shadercache/internal/recordtest"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: compare NAME RECORDING CAPTURE")
		os.Exit(2)
	}
	if err := compare(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func compare(name, recording, capture string) error {
	r, err := recordtest.Read(recording)
	if err != nil {
		return err
	}
	captured, err := recordtest.Captured(capture)
	if err != nil {
		return err
	}
	linked, lost := r.Linked(), 0
	for _, p := range r.Processes {
		lost += len(p.Of("lost"))
	}
	missing := difference(captured, linked)
	fmt.Printf("| %s | %d | %d | %d | %d | %d | %d |\n", name, len(r.Processes), len(r.Programs), len(linked), len(captured), missing, lost)
	if missing > 0 || len(linked) != len(captured) || len(captured) == 0 {
		return fmt.Errorf("%s: %d of %d linked programs are not in the recording, which has %d links", name, missing, len(captured), len(linked))
	}
	return nil
}

// difference returns how many of the first sorted list the second lacks.
func difference(all, some []string) (missing int) {
	some = slices.Clone(some)
	for _, s := range all {
		i, found := slices.BinarySearch(some, s)
		if !found {
			missing++
			continue
		}
		some = slices.Delete(some, i, i+1)
	}
	return missing
}
