package binary

import (
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/binary/internal/index"
)

// Errors of the store.
var (
	// ErrNotFound is returned when the store holds no blob for a key.
	ErrNotFound = errors.New("binary: not found")
	// ErrDamaged is returned, wrapped with the file and what is wrong, when bytes on disk are
	// not what was written.
	ErrDamaged = index.ErrDamaged
	// ErrUnsafeDir is returned when a cache directory belongs to another user,
	// can be written by others, or is not a directory.
	ErrUnsafeDir = errors.New("binary: unsafe directory")
	// ErrQuarantined is returned, as a [*Quarantined], for a source
	// that the driver was compiling when a process ended.
	ErrQuarantined = errors.New("binary: in quarantine")
	// ErrNoDir is returned when there is neither SHADERCACHE_DIR nor a user cache
	// directory.
	ErrNoDir = errors.New("binary: no cache directory")
	// ErrReadOnly is returned by methods that would write to a directory that
	// OpenUpstream opened.
	ErrReadOnly = errors.New("binary: an upstream directory is only read")
)

// wrap returns an error of the package with what it did, and nil for nil.
func wrap(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("binary: %s: %w", doing, err)
}

// damagedError reports a file or bytes that are damaged. It matches [ErrDamaged].
type damagedError = index.DamagedError

func damaged(format string, args ...any) error {
	return &damagedError{Reason: fmt.Sprintf(format, args...)}
}
