package cli

import (
	"fmt"
	"io"
)

// Output is standard output that keeps its first error, for text that is printed without
// a check of errors, such as help.
type Output struct {
	io.Writer
	Err error // the first
}

func (w *Output) Write(data []byte) (int, error) {
	n, err := w.Writer.Write(data)
	if w.Err == nil && err != nil {
		w.Err = fmt.Errorf("standard output: %w", err)
	}
	return n, err
}
