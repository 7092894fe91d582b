//go:build !unix

package osfile

import (
	"errors"
	"os"
)

// CreateUnnamed creates a temporary file, which keeps its name on this system until
// CloseUnnamed. The pattern is that of os.CreateTemp.
func CreateUnnamed(pattern string) (*os.File, error) { return os.CreateTemp("", pattern) }

// ReopenUnnamed returns another handle of a file of CreateUnnamed.
func ReopenUnnamed(f *os.File) (*os.File, error) { return os.Open(f.Name()) }

// CloseUnnamed closes and deletes a file of CreateUnnamed.
func CloseUnnamed(f *os.File) error { return errors.Join(f.Close(), os.Remove(f.Name())) }
