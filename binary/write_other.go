//go:build !unix

package binary

import "bufio"

// writeFile puts data into a file that readers see whole or not at all. The
// temporary file lies beside it, with a name that starts with a dot.
func writeFile(path string, data []byte) error {
	return writeUnsynced(path, func(w *bufio.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
