//go:build linux

package resident

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// sparseBytes is the size of a state without content. The attack had 4 GiB.
const sparseBytes = 256 << 20

// allocated returns the bytes that fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// sparseCheckpoint returns the head of a checkpoint with one state of sparseBytes.
func sparseHead() []byte {
	c := &Checkpoint{Sequence: 7, groups: make([]groupProgress, 2), states: []savedState{{block: "Cells", data: make([]byte, sparseBytes)}}}
	return c.head()
}

// TestSparseCheckpointsTakeNoMemory loads a file whose head declares a large state, of
// which nothing is on the disk: it is refused without memory for it.
func TestSparseCheckpointsTakeNoMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	head := sparseHead()
	if err := os.WriteFile(path+".0", head, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path+".0", int64(len(head))+sparseBytes+32); err != nil {
		t.Fatal(err)
	}
	var err error
	if n := allocated(func() { _, err = OpenCheckpointFile(path).Load() }); n > 16<<20 || !errors.Is(err, ErrDamaged) {
		t.Errorf("%d bytes allocated for a sparse file, %v", n, err)
	}
}

// TestSparseCheckpointsThatAreWholeLoad has a sealed checkpoint of zeros with a hole in it,
// as a file system that compresses has: it is loaded.
func TestSparseCheckpointsThatAreWholeLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	const size = 8 << 20
	c := &Checkpoint{Sequence: 7, groups: make([]groupProgress, 2), states: []savedState{{block: "Cells", data: make([]byte, size)}}}
	var whole bytes.Buffer
	if _, err := c.WriteTo(&whole); err != nil {
		t.Fatal(err)
	}
	file, err := os.Create(path + ".0")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	data, head := whole.Bytes(), len(c.head())
	for at, part := range map[int][]byte{0: data[:head], head + size: data[head+size:]} {
		if _, err := file.WriteAt(part, int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := file.Stat(); err != nil || !isSparse(info) {
		t.Skipf("this file system keeps no holes: %v", err)
	}
	got, err := OpenCheckpointFile(path).Load()
	if err != nil || len(got.states) != 1 || !bytes.Equal(got.states[0].data, c.states[0].data) {
		t.Errorf("a whole checkpoint: %v", err)
	}
}

// TestReadingTakesMemoryAsBytesArrive reads a checkpoint from a stream: the memory for a
// state is at most three times its size, and little where it is missing.
func TestReadingTakesMemoryAsBytesArrive(t *testing.T) {
	head := sparseHead()
	var err error
	if n := allocated(func() { _, err = ReadCheckpoint(bytes.NewReader(head)) }); n > 4<<20 || !errors.Is(err, ErrDamaged) {
		t.Errorf("%d bytes allocated for a head alone, %v", n, err)
	}
	const size = 33 << 20
	c := &Checkpoint{groups: make([]groupProgress, 1), states: []savedState{{block: "Cells", data: make([]byte, size)}}}
	var whole bytes.Buffer
	if _, err := c.WriteTo(&whole); err != nil {
		t.Fatal(err)
	}
	if n := allocated(func() { _, err = ReadCheckpoint(bytes.NewReader(whole.Bytes())) }); n > 3*size || err != nil {
		t.Errorf("%d bytes allocated for a state of %d, %v", n, size, err)
	}
}
