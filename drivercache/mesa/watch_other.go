//go:build !linux

package mesa

import "errors"

// Watch reports which files of Mesa's cache are added and read. It works on Linux only.
type Watch struct{}

// NewWatch returns errors.ErrUnsupported.
func NewWatch(string) (*Watch, error) { return nil, errors.ErrUnsupported }

// Close does nothing.
func (*Watch) Close() {}

// Asleep returns true.
func (*Watch) Asleep() bool { return true }

// ForgetWriters does nothing.
func (*Watch) ForgetWriters() {}

// Changes returns nothing.
func (*Watch) Changes() (added, read []string) { return nil, nil }

// Flush does nothing: Mesa is managed on Linux only.
func Flush() {}
