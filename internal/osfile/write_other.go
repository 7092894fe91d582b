//go:build !unix

package osfile

import "bufio"

// WriteFile replaces the file at path with data. Readers see the old file or the new
// one, whole. The temporary file is beside path and its name starts with a dot.
func WriteFile(path string, data []byte) error {
	return WriteUnsynced(path, func(w *bufio.Writer) error {
		_, err := w.Write(data)
		return err
	})
}
