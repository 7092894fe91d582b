package main

import (
	"fmt"
	"io"
)

// output is standard output that remembers that something was lost, for what is
// printed where nobody looks at errors, such as a help text.
type output struct {
	io.Writer
	err error // the first
}

func (w *output) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	if w.err == nil && err != nil {
		w.err = fmt.Errorf("standard output: %w", err)
	}
	return n, err
}
