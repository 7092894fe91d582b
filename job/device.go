package job

import (
	"context"
	"fmt"

	"github.com/shadercache/shadercache/job/texel"
	"github.com/shadercache/shadercache/shader"
)

// Device runs programs on a GPU: of this process, or of a server that has the context. What
// a program does with it is the same in both, and so are results and errors. Plans over it
// are in package conv2d.
//
// Methods of a Device and of what it makes may be called from any goroutine, but not from
// a callback of glctx.Context.Do or Post; a Pending belongs to one goroutine at a time.
//
// Errors match those of this package by errors.Is, and shader.ErrOutOfMemory,
// context.DeadlineExceeded and context.Canceled. A program that does not compile is a
// *shader.CompileError.
type Device interface {
	Namer

	// Name returns the name of the GPU, as OpenGL has it.
	Name() string

	// Get returns the program of a source: resident, from disk, or compiled. Release
	// releases it.
	Get(ctx context.Context, source *shader.Source) (Program, error)

	// NewBuffer makes a buffer of size bytes on the GPU, a multiple of 4, all zero.
	// Release releases it.
	NewBuffer(ctx context.Context, size int) (Buffer, error)

	// NewTexture makes a texture on the GPU, all zero. Release releases it. It returns
	// ErrInvalid for a shape that the GPU does not have.
	NewTexture(ctx context.Context, shape texel.Shape) (Texture, error)

	// Submit starts a job. Every Pending has to be waited for or released. A deadline of
	// ctx is the deadline of the job: Wait then returns context.DeadlineExceeded. It
	// returns ErrInvalid for a job that does not fit its programs or the GPU.
	Submit(ctx context.Context, job *Job) (Pending, error)

	// Run submits a job and waits for it.
	Run(ctx context.Context, job *Job) error

	// Close ends the use of the device, and closes a GPU of this process. Everything that
	// the device made is released, except named buffers and plans of a server.
	Close() error
}

// Namer has buffers under names, which other processes find where the device is a server's.
type Namer interface {
	// NamedBuffer opens the buffer of a name, and makes it, all zero, where there is none.
	// It returns ErrExists where it has another size. In a server it outlives this process,
	// and all clients of its GPU share it: a server deletes it when it was idle for a time,
	// and returns ErrOtherDevice where another of its GPUs has it. In this process it lives
	// until the device is closed.
	NamedBuffer(ctx context.Context, name string, size int) (Buffer, error)

	// DeleteBuffer removes the name of a buffer. Those that have the buffer open keep it.
	// It returns ErrNotFound where there is none.
	DeleteBuffer(ctx context.Context, name string) error
}

// Program is a program that is resident.
type Program interface {
	Name() string
	Key() shader.Key
	WorkGroup() [3]uint32        // the size of a work group in x, y and z
	Interface() shader.Interface // what jobs bind; its resources are shared, and not to be changed
	Origin() Origin              // where the program came from when Get returned it

	// Release ends the use of the program, which stays in the cache. Jobs that were
	// submitted end first. It may be called again.
	Release()
}

// Buffer is memory on the GPU that persists between jobs.
type Buffer interface {
	Bindable

	// Version returns the version that the buffer had when it was opened: 0 where it was
	// never written. Each write, also of a job that binds the buffer and not as read-only,
	// adds 1.
	Version() uint64

	// Created reports whether the call that returned the buffer made it.
	Created() bool

	// Write copies data to offset, after the jobs submitted before, and returns the
	// version afterwards.
	Write(ctx context.Context, offset int, data []byte) (version uint64, err error)

	// Replace is Write that sets the version to next, if the buffer still has the version
	// expected. Otherwise it returns ErrConflict and copies nothing.
	Replace(ctx context.Context, offset int, data []byte, expected, next uint64) (version uint64, err error)

	// Read copies from offset to dst, after the jobs submitted before, and returns the
	// version of what it copied.
	Read(ctx context.Context, offset int, dst []byte) (version uint64, err error)

	// Release ends the use of the buffer. It may be called again.
	Release()
}

// Texture is texels on the GPU that persist between jobs.
type Texture interface {
	Shape() texel.Shape          // without zeros
	Aliases(f texel.Format) bool // the driver takes an image of the format: see texel.Format

	// Write copies texels without padding to a region, after the jobs submitted before.
	Write(ctx context.Context, r texel.Region, texels []byte) error

	// Read copies the texels of a region to dst without padding, likewise.
	Read(ctx context.Context, r texel.Region, dst []byte) error

	// Release ends the use of the texture. It may be called again.
	Release()
}

// Pending is a submitted job.
type Pending interface {
	// Wait waits for the job and delivers its outputs. When ctx ends first it returns an
	// error, the job continues, and Wait may be called again. Otherwise further calls
	// return the same error.
	Wait(ctx context.Context) error

	// Release discards the result. It does nothing after Wait has delivered.
	Release()
}

// Wait waits for what Submit returned, and releases it.
func Wait(ctx context.Context, pending Pending, err error) error {
	if err != nil {
		return err
	}
	defer pending.Release()
	return pending.Wait(ctx)
}

// CheckSize returns ErrInvalid for a buffer of a size that a GPU has not, whose limit is the
// most bytes.
func CheckSize(size, limit int64) error {
	if size <= 0 || size%4 != 0 || size > limit {
		return fmt.Errorf("%w: a buffer of %d bytes: a multiple of 4 up to %d is needed", ErrInvalid, size, limit)
	}
	return nil
}

// CheckRange returns ErrInvalid where a buffer of size bytes has not n bytes, one at least,
// at offset.
func CheckRange(size, offset, n int) error {
	if n <= 0 || offset < 0 || n > size-offset {
		return fmt.Errorf("%w: bytes %d to %d of a buffer of %d", ErrInvalid, offset, offset+n, size)
	}
	return nil
}

// CheckTexels returns ErrInvalid where n bytes are not the texels of a region of a texture.
func CheckTexels(s texel.Shape, r texel.Region, n int) error {
	size, err := s.RegionBytes(r)
	if err == nil && n != size {
		err = fmt.Errorf("%d bytes, the texels of the region have %d", n, size)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return nil
}
