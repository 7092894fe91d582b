//go:build !unix

package binary

import "os"

// anonymousFile makes a temporary file, which keeps its name here until
// forgetFile.
func anonymousFile(pattern string) (*os.File, error) { return os.CreateTemp("", pattern) }

// reopened is another handle of an anonymous file.
func reopened(f *os.File) (*os.File, error) { return os.Open(f.Name()) }

// forgetFile ends an anonymous file.
func forgetFile(f *os.File) {
	_ = f.Close()
	_ = os.Remove(f.Name())
}
