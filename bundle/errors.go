package bundle

import (
	"errors"
	"fmt"
)

var (
	// ErrRefused is returned, wrapped in a [*RefusedError], when a bundle is
	// damaged, incomplete, or holds what no export writes.
	ErrRefused = errors.New("bundle: refused")
	// ErrUnsigned is returned when a key is given and the bundle has no
	// signature.
	ErrUnsigned = errors.New("bundle: not signed")
	// ErrSignature is returned when the signature was not made with the key.
	ErrSignature = errors.New("bundle: signature does not match the key")
	// ErrEmpty is returned when there is nothing to export, or when no program of the
	// directory can be exported.
	ErrEmpty = errors.New("bundle: nothing to export")
	// ErrBusy is returned when another import into the directory is under way.
	ErrBusy = errors.New("bundle: another import is under way")
)

// RefusedError says what is wrong with a bundle. It matches [ErrRefused].
type RefusedError struct {
	Path   string // the member, or "" for the bundle as a whole
	Reason string
}

func (e *RefusedError) Error() string {
	if e.Path == "" {
		return "bundle refused: " + e.Reason
	}
	return fmt.Sprintf("bundle refused: %q: %s", e.Path, e.Reason)
}

func (e *RefusedError) Is(target error) bool { return target == ErrRefused }

func refused(path, text string, args ...any) error {
	return &RefusedError{path, fmt.Sprintf(text, args...)}
}
