package cli

import (
	"fmt"
	"io"
)

// Output is standard output that remembers that something was lost, for what is
// printed where nobody looks at errors, such as a help text.
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
