package binary

import (
	"errors"
	"fmt"
)

// Errors of the store.
var (
	// ErrNotFound is returned when the store holds no blob for a key.
	ErrNotFound = errors.New("binary: not found")
	// ErrDamaged is returned, wrapped in a [*DamagedError], when bytes on disk
	// are not what was written.
	ErrDamaged = errors.New("binary: damaged")
	// ErrUnsafeDir is returned when a cache directory belongs to another user,
	// can be written by others, or is not a directory.
	ErrUnsafeDir = errors.New("binary: unsafe directory")
	// ErrBusy is returned when another process holds the index for longer than
	// we wait. Nothing is lost: the caller keeps its records and tries later.
	ErrBusy = errors.New("binary: index is busy")
	// ErrNoDir is returned when there is no place to keep a cache: no
	// SHADERCACHE_DIR and no user cache directory.
	ErrNoDir = errors.New("binary: no cache directory")
)

// Errors of a device. They live here because both sides of the seam, cache and
// glctx, need them and neither imports the other.
var (
	// ErrRejected is returned when a driver refuses a program binary: it was
	// made by another driver build, for other context flags, or is broken.
	ErrRejected = errors.New("driver refused the program binary")
	// ErrOutOfMemory is returned when a GL call raises GL_OUT_OF_MEMORY.
	ErrOutOfMemory = errors.New("driver is out of memory")
	// ErrContextLost is returned by every call after the context was lost:
	// the GPU was reset or removed. The context has to be opened again.
	ErrContextLost = errors.New("GL context lost")
	// ErrClosed is returned by every call after Close.
	ErrClosed = errors.New("GL context closed")
)

// DamagedError says which bytes are damaged and how it was noticed. It matches
// [ErrDamaged].
type DamagedError struct {
	Path   string // file, or "" for bytes in memory
	Reason string
}

func (e *DamagedError) Error() string {
	if e.Path == "" {
		return "binary: damaged blob: " + e.Reason
	}
	return fmt.Sprintf("binary: damaged blob %s: %s", e.Path, e.Reason)
}

func (e *DamagedError) Is(target error) bool { return target == ErrDamaged }
