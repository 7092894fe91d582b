//go:build linux

package socket

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// ErrUnsealed is returned for a descriptor that is not a memfd sealed with F_SEAL_SHRINK.
var ErrUnsealed = errors.New("the descriptor is not a memfd that is sealed against shrinking (F_SEAL_SHRINK)")

// ErrMappings is returned where a process maps as much memory of peers as it may.
var ErrMappings = errors.New("the process has as many mappings of shared memory as it may")

// mappings is the number of mappings of Map. Half of those that the kernel allows a process are
// left for others: where there is none left, Go's heap cannot grow and the process ends.
var (
	mappings    atomic.Int64
	maxMappings = sync.OnceValue(func() int64 {
		limit := int64(65530) // the kernel's default
		text, err := os.ReadFile("/proc/sys/vm/max_map_count")
		if err == nil {
			_, _ = fmt.Sscan(string(text), &limit)
		}
		return limit / 2
	})
)

// NewMemory makes a memfd of size bytes, sealed against changes of its size, and maps it.
// The caller closes the file, and unmaps the memory with Unmap.
func NewMemory(name string, size int) (f *os.File, memory []byte, err error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, fmt.Errorf("memfd_create: %w", err)
	}
	f = os.NewFile(uintptr(fd), name)
	if err = f.Truncate(int64(size)); err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	}
	if err == nil {
		memory, err = Map(int(f.Fd()), uint64(size))
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, memory, nil
}

// Map maps size bytes of a memfd that the peer made; the capacity of the result is whole
// pages. Access to a mapping of a file that shrinks raises SIGBUS, here or in a thread of
// the driver, so it returns ErrUnsealed, wrapped, for anything that could, and refuses huge
// pages, which the peer could take away.
func Map(fd int, size uint64) ([]byte, error) {
	seals, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	if err != nil || seals&unix.F_SEAL_SHRINK == 0 {
		return nil, ErrUnsealed
	}
	// After the seals: a size that was read before could be the size before it shrank.
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return nil, err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return nil, err
	}
	if fs.Type == unix.HUGETLBFS_MAGIC {
		return nil, fmt.Errorf("%w: it has huge pages", ErrUnsealed)
	}
	if size == 0 || size > math.MaxInt || int64(size) > info.Size {
		return nil, fmt.Errorf("%d bytes of a memfd of %d cannot be mapped", size, info.Size)
	}
	page := uint64(os.Getpagesize())
	pages := (size + page - 1) / page * page
	if mappings.Add(1) > maxMappings() {
		mappings.Add(-1)
		return nil, ErrMappings
	}
	memory, err := unix.Mmap(fd, 0, int(pages), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		mappings.Add(-1)
		return nil, fmt.Errorf("mmap %d bytes: %w", size, err)
	}
	return memory[:size], nil
}

// Unmap ends a mapping of Map. No goroutine may use the memory any more.
func Unmap(memory []byte) error {
	defer mappings.Add(-1)
	return unix.Munmap(memory[:cap(memory)])
}
