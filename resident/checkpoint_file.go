//go:build linux

package resident

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// CheckpointFile keeps the newest two checkpoints in two files, PATH.0 and PATH.1, each
// with the bytes of Checkpoint.WriteTo. Save replaces the older one, and writes only the
// chunks that changed. Load accepts a file only if its seal matches all of its bytes. So
// one file is valid whenever a process dies, also during a save. It may be used from any
// goroutine, and by one process at a time.
type CheckpointFile struct {
	path string
	mu   sync.Mutex
	next uint64 // sequence of the next checkpoint; 0: the files were not read yet
	old  int    // the copy that the next save overwrites
	held [2]heldCopy
}

// heldCopy describes the content of a copy that was written or read completely.
type heldCopy struct {
	extents []extent
	info    os.FileInfo // at that time; nil: the content is unknown
}

// OpenCheckpointFile returns a CheckpointFile for the files at path, which need not
// exist. The first Load or Save opens them.
func OpenCheckpointFile(path string) *CheckpointFile { return &CheckpointFile{path: path} }

func (f *CheckpointFile) copyName(i int) string { return fmt.Sprintf("%s.%d", f.path, i) }

// Save writes a checkpoint over the older copy, waits until it is on disk, and returns
// the number of bytes written. It writes all chunks where the content of the copy is
// unknown: the first time, after a failure, and after another program changed the file.
func (f *CheckpointFile) Save(c *Checkpoint) (written int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.findOldest(); err != nil {
		return 0, fmt.Errorf("resident: save checkpoint: %w", err)
	}
	numbered := *c
	numbered.Sequence = f.next
	chunks := cut(numbered.pieces())
	held := f.held[f.old]
	f.held[f.old] = heldCopy{}
	info, written, err := overwrite(f.copyName(f.old), held, chunks)
	if err != nil {
		return written, fmt.Errorf("resident: save checkpoint: %w", err)
	}
	f.held[f.old] = heldCopy{extents(chunks), info}
	f.next++
	f.old = 1 - f.old
	return written, nil
}

// findOldest reads the copies if they were not read yet, and selects the one to
// overwrite. It fails where a copy may be valid and cannot be read.
func (f *CheckpointFile) findOldest() error {
	if f.next > 0 {
		return nil
	}
	c, problems := f.readNewest()
	if c != nil {
		return nil
	}
	for _, err := range problems {
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
			return err
		}
	}
	f.next, f.old = 1, 1
	return nil
}

// overwrite writes the chunks into a copy, and waits for the disk. The order of its
// writes does not matter: the seal matches once all are done.
func overwrite(name string, held heldCopy, chunks []chunk) (info os.FileInfo, written int64, err error) {
	file, info, err := openCopy(name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !held.unchanged(info) {
		held.extents = nil
	}
	var end int64
	for _, p := range patches(held.extents, chunks) {
		n, err := file.WriteAt(p.data, p.at)
		written += int64(n)
		if err != nil {
			return nil, written, err
		}
		end = p.at + int64(n)
	}
	if err := errors.Join(file.Truncate(end), file.Sync()); err != nil {
		return nil, written, err
	}
	info, err = file.Stat()
	return info, written, err
}

// unchanged reports whether a file is unchanged since it was written or read.
func (h heldCopy) unchanged(info os.FileInfo) bool {
	return h.info != nil && os.SameFile(h.info, info) && h.info.Size() == info.Size() && h.info.ModTime().Equal(info.ModTime())
}

// Load reads the newest valid checkpoint. It returns ErrNoCheckpoint, wrapped with the
// errors of both copies, if there is none.
func (f *CheckpointFile) Load() (*Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, problems := f.readNewest()
	if c == nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoCheckpoint, f.path, errors.Join(problems...))
	}
	return c, nil
}

// CheckpointCopy is one of the two files of a CheckpointFile, or a copy of one elsewhere.
type CheckpointCopy struct {
	Path       string
	Checkpoint *Checkpoint // nil where it is not valid
	Err        error       // why not
}

// ReadCopy reads a file with one checkpoint, and checks all of it.
func ReadCopy(path string) CheckpointCopy {
	c, _, err := readCopy(path)
	return CheckpointCopy{path, c, err}
}

// Copies reads both files.
func (f *CheckpointFile) Copies() [2]CheckpointCopy {
	f.mu.Lock()
	defer f.mu.Unlock()
	return [2]CheckpointCopy{ReadCopy(f.copyName(0)), ReadCopy(f.copyName(1))}
}

// readNewest reads the copy with the higher sequence, and the other one if that is not
// valid. It records the content of the copy and which one is overwritten next.
func (f *CheckpointFile) readNewest() (*Checkpoint, []error) {
	var problems []error
	newest := 0
	if readSequence(f.copyName(1)) > readSequence(f.copyName(0)) {
		newest = 1
	}
	for _, i := range [2]int{newest, 1 - newest} {
		c, held, err := readCopy(f.copyName(i))
		f.held[i] = held
		if err == nil {
			f.next, f.old = c.Sequence+1, 1-i
			return c, problems
		}
		problems = append(problems, err)
	}
	return nil, problems
}

// readSequence returns the sequence in the head of a copy, 0 without one.
func readSequence(name string) uint64 {
	file, _, err := openCopy(name, os.O_RDONLY)
	if err != nil {
		return 0
	}
	defer file.Close()
	var h checkpointHead
	if err := binary.Read(file, binary.LittleEndian, &h); err != nil {
		return 0
	}
	return h.Sequence
}

// readCopy reads a copy and checks all of it.
func readCopy(name string) (*Checkpoint, heldCopy, error) {
	file, info, err := openCopy(name, os.O_RDONLY)
	if err != nil {
		return nil, heldCopy{}, err
	}
	defer file.Close()
	if isSparse(info) {
		if err := checkSealed(bufio.NewReaderSize(file, 1<<20)); err != nil {
			return nil, heldCopy{}, fmt.Errorf("%s: %w", name, err)
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return nil, heldCopy{}, err
		}
	}
	c, chunks, err := readChunks(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return nil, heldCopy{}, fmt.Errorf("%s: %w", name, err)
	}
	return c, heldCopy{extents(chunks), info}, nil
}

// isSparse reports whether a file has less on the disk than its size. So it is where a
// file system compresses, or where a large file was made of nothing: its seal is
// checked before it takes memory.
func isSparse(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Blocks*512 < info.Size()
}

// openCopy opens a regular file. It follows no link, so that a link cannot choose what is
// overwritten, and does not wait for the other end of a pipe.
func openCopy(name string, flags int) (*os.File, os.FileInfo, error) {
	file, err := os.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, fmt.Errorf("%s is a symbolic link: name the file that it points to", name)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}
