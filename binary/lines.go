package binary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"

	"github.com/shadercache/shadercache/internal/osfile"
)

// appendLine appends a line to a file in one write. Where the file is larger than limit it
// calls shorten, under a lock: not while another process does.
func appendLine(path string, line []byte, limit int64, shorten func() error) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return damaged("is not a regular file") // opening a FIFO might block
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Write(line); err != nil {
		return err
	}
	if info, err := f.Stat(); err != nil || info.Size() <= limit || osfile.TryLock(f, true) != nil {
		return err
	}
	return shorten()
}

// readLines returns the lines of a file that are JSON of a T. There are none in a file that
// cannot be read, or is larger than limit.
func readLines[T any](path string, limit int64) (lines []T) {
	data, _, err := readRegular(path, limit)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(data) {
		var v T
		if json.Unmarshal(line, &v) == nil {
			lines = append(lines, v)
		}
	}
	return lines
}

// keepLaterHalf replaces a file by the later half of its lines.
func keepLaterHalf[T any](path string, lines []T) error {
	return osfile.WriteUnsynced(path, func(w *bufio.Writer) error {
		for _, v := range lines[len(lines)/2:] {
			if err := json.NewEncoder(w).Encode(v); err != nil {
				return err
			}
		}
		return nil
	})
}
