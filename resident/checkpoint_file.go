//go:build linux

package resident

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// CheckpointFile keeps checkpoints in two files, PATH.0 and PATH.1, of which
// each save overwrites the older one. Whenever a process dies, be it while it
// writes, one of them is whole. It may be used from any goroutine, and by one
// process at a time.
type CheckpointFile struct {
	path string
	mu   sync.Mutex
	next uint64 // sequence of the next checkpoint
}

// OpenCheckpointFile looks at the files at path, if there are any.
func OpenCheckpointFile(path string) *CheckpointFile {
	f := &CheckpointFile{path: path, next: 1}
	if c, err := f.Load(); err == nil {
		f.next = c.Sequence + 1
	}
	return f
}

func (f *CheckpointFile) copyName(sequence uint64) string {
	return fmt.Sprintf("%s.%d", f.path, sequence%2)
}

// Save writes a checkpoint over the older copy and waits until it is on disk.
func (f *CheckpointFile) Save(c *Checkpoint) (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	numbered := *c
	numbered.Sequence = f.next
	file, err := os.OpenFile(f.copyName(f.next), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("resident: save checkpoint: %w", err)
	}
	w := bufio.NewWriterSize(file, 1<<20)
	_, err = numbered.WriteTo(w)
	if err = errors.Join(err, w.Flush(), file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("resident: save checkpoint: %w", err)
	}
	f.next++
	return nil
}

// Load reads the newest checkpoint that is whole. It returns ErrNoCheckpoint,
// wrapped with what is wrong with the copies, where there is none.
func (f *CheckpointFile) Load() (*Checkpoint, error) {
	var newest *Checkpoint
	var problems []error
	for i := range uint64(2) {
		c, err := readCheckpointFile(f.copyName(i))
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if newest == nil || c.Sequence > newest.Sequence {
			newest = c
		}
	}
	if newest == nil {
		return nil, fmt.Errorf("%w at %s: %w", ErrNoCheckpoint, f.path, errors.Join(problems...))
	}
	return newest, nil
}

func readCheckpointFile(name string) (*Checkpoint, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c, err := ReadCheckpoint(bufio.NewReaderSize(file, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return c, nil
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
		err = s.options.Checkpoints.Save(c)
	}
	if err != nil {
		s.driver.saving = err
	}
	s.driver.checkpointed = time.Now()
}
