package cache

import (
	"context"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Source is one compute program: see [shader.NewSource].
type Source = shader.Source

// Device compiles, loads and deletes programs. *glctx.Context is the real one.
//
// The cache calls a Device from any goroutine, never while it holds its lock,
// and one call may overlap another. Errors that the cache acts on are
// *shader.CompileError, shader.ErrRejected, shader.ErrOutOfMemory and
// shader.ErrContextLost; any other error is passed on to the caller of Get.
type Device interface {
	// Fingerprint says which driver this is. It never changes.
	Fingerprint() binary.Fingerprint

	// Compile compiles, links and primes every source and calls done exactly
	// once for each, on the calling goroutine, in any order. Several sources at
	// once let the driver compile them side by side. A program that done
	// received belongs to the receiver, who must Delete it. When ctx ends,
	// done receives ctx.Err() for what has not been started.
	Compile(ctx context.Context, sources []*Source, done func(i int, p shader.Program, err error))

	// Load makes a program from a binary and primes it. It returns
	// shader.ErrRejected, wrapped, when the driver refuses it.
	Load(ctx context.Context, format uint32, payload []byte) (shader.Program, error)

	// Binary returns the program binary of a program that Compile made.
	Binary(ctx context.Context, id uint32) (format uint32, payload []byte, err error)

	// Delete deletes a program soon, on the device's own thread. It does not
	// wait and may be called after the device was closed.
	Delete(id uint32)
}

// Store keeps program binaries from process to process. *binary.Store, bound
// to the device's fingerprint, is the real one. Methods may be called from any
// goroutine and may be slow: the cache never holds its lock across them.
type Store interface {
	// Get reads the blob of a key. It returns binary.ErrNotFound, or an error
	// that matches binary.ErrDamaged when the bytes on disk are not what was
	// written; a damaged blob has been set aside already.
	Get(key shader.Key) (*binary.Blob, error)

	// Put writes a blob, replacing any blob of the same key.
	Put(blob *binary.Blob) error

	// Reject moves the blob of key out of the way, because the driver
	// refused it, and remembers the reason.
	Reject(key shader.Key, reason string) error

	// Record adds uses and counters to what the store remembers and rewrites
	// its summaries. It returns binary.ErrBusy when another process holds the
	// index; then nothing was recorded, and the caller offers it again later.
	Record(uses []binary.Use, counters binary.Counters) error

	// Prune deletes blobs and driver cache files by age and size.
	Prune(options binary.PruneOptions) (binary.PruneReport, error)

	// Close releases the store. It records nothing.
	Close() error
}
