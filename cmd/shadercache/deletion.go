package main

import (
	"fmt"
	"io"

	"github.com/shadercache/shadercache/cmd/cli"
)

// deletion is what rm and clear print.
type deletion struct{ pruneResult }

func (r *deletion) Print(w io.Writer) {
	verb := r.printFiles(w)
	fmt.Fprintf(w, "%s %s (%s), %s of machine code and %s\n", verb, cli.Plural(r.Programs, "program"),
		cli.ReadableBytes(r.Bytes), cli.ReadableBytes(r.DriverBytes), cli.Plural(r.Leftovers, "other file"))
	if r.DriverInUse {
		fmt.Fprint(w, "some machine code is in use: it is deleted at a later start\n")
	}
	fmt.Fprintf(w, "in %s\n", cli.EscapeName(r.Dir))
}
