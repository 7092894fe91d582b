//go:build linux

package resident

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// CheckpointFile keeps checkpoints in two files, PATH.0 and PATH.1. A save
// makes the older one the newest, and writes only the chunks in which the two
// differ. Each is what Checkpoint.WriteTo writes, and is taken only where its
// seal fits all of its bytes. So whenever a process dies, be it while it
// writes, one of them is whole. It may be used from any goroutine, and by one
// process at a time.
type CheckpointFile struct {
	path string
	mu   sync.Mutex
	next uint64 // sequence of the next checkpoint; 0: nobody has looked yet
	old  int    // the copy that the next save overwrites
	held [2]heldCopy
}

// heldCopy is what is known of the content of a copy: of one that was written or
// read, whole.
type heldCopy struct {
	extents []extent
	info    os.FileInfo // when it was written or read; nil: nothing is known
}

// OpenCheckpointFile is for the files at path, which need not exist. It does not
// look at them: the first Load or Save does.
func OpenCheckpointFile(path string) *CheckpointFile { return &CheckpointFile{path: path} }

func (f *CheckpointFile) copyName(i int) string { return fmt.Sprintf("%s.%d", f.path, i) }

// Save writes a checkpoint over the older copy, waits until it is on disk, and
// returns how many bytes it wrote. It writes every chunk where it does not know
// what the copy holds: at its first save, the first one after a failure, and
// where somebody else has written to the file.
func (f *CheckpointFile) Save(c *Checkpoint) (written int64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.know(); err != nil {
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

// know looks at the copies unless somebody has. It fails where a copy may be
// whole and cannot be read.
func (f *CheckpointFile) know() error {
	if f.next > 0 {
		return nil
	}
	c, problems := f.look()
	for _, err := range problems {
		if c == nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrDamaged) {
			return err
		}
	}
	if c == nil {
		f.next, f.old = 1, 1
	}
	return nil
}

// overwrite makes a copy hold the chunks, and waits for the disk. The order of
// its writes does not matter: until all are done the seal does not fit.
func overwrite(name string, held heldCopy, chunks []chunk) (info os.FileInfo, written int64, err error) {
	file, info, err := openCopy(name, os.O_WRONLY|os.O_CREATE)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	if !held.is(info) {
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

// is says whether a file is the one that is known, untouched.
func (h heldCopy) is(info os.FileInfo) bool {
	return h.info != nil && os.SameFile(h.info, info) && h.info.Size() == info.Size() && h.info.ModTime().Equal(info.ModTime())
}

// Load reads the newest checkpoint that is whole. It returns ErrNoCheckpoint,
// wrapped with what is wrong with the copies, where there is none.
func (f *CheckpointFile) Load() (*Checkpoint, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c, problems := f.look()
	if c == nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoCheckpoint, f.path, errors.Join(problems...))
	}
	return c, nil
}

// look reads the copy that says to be the newest one, and the other one where
// that is not whole. It remembers what the copy holds and which one is next.
func (f *CheckpointFile) look() (*Checkpoint, []error) {
	var problems []error
	newest := 0
	if claim(f.copyName(1)) > claim(f.copyName(0)) {
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

// claim is the sequence that a copy says it has, and 0 for one that says none.
func claim(name string) uint64 {
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

func readCopy(name string) (*Checkpoint, heldCopy, error) {
	file, info, err := openCopy(name, os.O_RDONLY)
	if err != nil {
		return nil, heldCopy{}, err
	}
	defer file.Close()
	c, chunks, err := readChunks(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return nil, heldCopy{}, fmt.Errorf("%s: %w", name, err)
	}
	return c, heldCopy{extents(chunks), info}, nil
}

// openCopy opens a plain file. Whoever can put a link there must not choose what
// is overwritten, and nobody waits for the other end of a pipe.
func openCopy(name string, flags int) (*os.File, os.FileInfo, error) {
	file, err := os.OpenFile(name, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if errors.Is(err, syscall.ELOOP) {
		return nil, nil, fmt.Errorf("%s is a symbolic link: name the file that it points at", name)
	}
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no plain file", name)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func (s *Session) checkpointDue() bool {
	return s.options.Checkpoints != nil && time.Since(s.driver.checkpointed) >= s.options.CheckpointEvery
}

// keepCheckpoint saves a checkpoint where one is due. A disk that does not take
// it does not stop the work: Close tells.
func (s *Session) keepCheckpoint() {
	if !s.checkpointDue() {
		return
	}
	c, err := s.save()
	if err == nil {
		var written int64
		written, err = s.options.Checkpoints.Save(c)
		s.counts.checkpointBytes.Add(uint64(written))
	}
	if err != nil {
		s.driver.saving = err
	}
	s.driver.checkpointed = time.Now()
}
