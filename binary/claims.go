package binary

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// claims is an empty file. A process that compiles a program holds a lock on one byte of
// it, whose number comes from the key: the system releases it when the process ends, and
// nothing has to be cleaned up.
const claimsName = "claims"

// claims are the claims of one store, or of a directory. The file is opened by the first.
type claims struct {
	mu   sync.Mutex
	file *os.File
}

// Claim claims a program for compiling, until release is called, the store is closed or the
// process ends. It reports false while another store, of this process or of another one,
// has the claim. It does not wait. Where locks do not work, such as in a directory that
// can only be read, everyone has every claim. release is never nil and may be called again.
func (s *Store) Claim(key shader.Key) (release func(), claimed bool) {
	return s.claims.claim(s.dir.readOnly, s.create, s.path, key)
}

// Claim is [Store.Claim] for a process that has others compile, before it knows the driver.
// It does not exclude claims of stores. They end with release, or with the process.
func (d *Dir) Claim(key shader.Key) (release func(), claimed bool) {
	return d.claims.claim(d.readOnly, func(string) error { return d.create() }, d.path, key)
}

func (c *claims) claim(readOnly bool, create func(string) error, folder string, key shader.Key) (release func(), claimed bool) {
	nothing := func() {}
	if readOnly || !osfile.HasByteLocks {
		return nothing, true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f, err := c.open(create, folder)
	if err != nil {
		return nothing, true
	}
	// Two programs of one number exclude each other, which costs time alone.
	offset := int64(binary.LittleEndian.Uint64(key[:]) & (math.MaxInt64 >> 1))
	switch err := osfile.TryLockByte(f, offset); {
	case errors.Is(err, osfile.ErrLocked):
		return nothing, false
	case err != nil:
		return nothing, true
	}
	return sync.OnceFunc(func() { osfile.UnlockByte(f, offset) }), true
}

// open returns the file of claims. The caller holds the mutex.
func (c *claims) open(create func(string) error, folder string) (*os.File, error) {
	if c.file != nil {
		return c.file, nil
	}
	if err := create(folder); err != nil {
		return nil, err
	}
	f, err := openOrCreate(filepath.Join(folder, claimsName), 0)
	if err != nil {
		return nil, err
	}
	c.file = f
	return f, nil
}

func (c *claims) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file != nil {
		c.file.Close()
		c.file = nil
	}
}
