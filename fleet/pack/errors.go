package pack

import (
	"errors"
	"fmt"
)

// Errors of an import or an export. They are returned wrapped.
var (
	// ErrRefused is matched by a [*RefusedError], which is returned when a bundle is
	// damaged, incomplete, or has content that Export does not write.
	ErrRefused = errors.New("bundle refused")
	// ErrTooLarge is matched by a [*RefusedError] for a bundle above
	// ImportOptions.MaxBytes.
	ErrTooLarge = errors.New("bundle is larger than the limit")
	// ErrNewer is matched by a [*RefusedError] for a bundle that a later version of
	// shadercache wrote.
	ErrNewer = errors.New("bundle is of a later version")
	// ErrUnsigned is returned when a key is given and the bundle is not signed.
	ErrUnsigned = errors.New("bundle is not signed")
	// ErrSignature is returned when the signature was not made with the key.
	ErrSignature = errors.New("signature does not match the key")
	// ErrEmpty is returned when there is nothing to export, or when no program of the
	// directory can be exported.
	ErrEmpty = errors.New("nothing to export")
	// ErrBusy is returned while another import into the directory runs.
	ErrBusy = errors.New("another import is running")
)

// RefusedError is the reason why a bundle was refused. It matches [ErrRefused].
type RefusedError struct {
	Path   string // the member, or "" for the whole bundle
	Reason string

	kind error // ErrTooLarge, ErrNewer or nil
}

func (e *RefusedError) Error() string {
	if e.Path == "" {
		return "bundle refused: " + e.Reason
	}
	return fmt.Sprintf("bundle refused: %q: %s", e.Path, e.Reason)
}

// Is reports whether target is ErrRefused, or the error for this kind of refusal.
func (e *RefusedError) Is(target error) bool {
	return target == ErrRefused || target != nil && target == e.kind
}

// refused returns a *RefusedError with a formatted reason.
func refused(path, text string, args ...any) error {
	return &RefusedError{Path: path, Reason: fmt.Sprintf(text, args...)}
}
