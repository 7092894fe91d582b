//go:build linux

package resident

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// resumeFile is the environment variable with the checkpoint file of a child that works
// until it is killed.
const resumeFile = "RESIDENT_TEST_CHECKPOINTS"

func TestChildWorksUntilItIsKilled(t *testing.T) {
	path := os.Getenv(resumeFile)
	if path == "" {
		t.Skip("is the child of TestResumeAfterKill")
	}
	f := newFixture(t)
	o := Options{TickTime: time.Millisecond, Checkpoints: OpenCheckpointFile(path), CheckpointEvery: time.Millisecond}
	s := f.session(chainKernel(), o)
	if err := s.Start(0); err != nil {
		t.Fatal(err)
	}
	_, _ = s.Wait(context.Background())
}

// TestResumeAfterKill kills a process while it works, and continues from its file.
func TestResumeAfterKill(t *testing.T) {
	f := newFixture(t)
	path := filepath.Join(t.TempDir(), "state")
	child := exec.Command(os.Args[0], "-test.run=^TestChildWorksUntilItIsKilled$")
	child.Env = append(os.Environ(), resumeFile+"="+path, "TMPDIR="+t.TempDir())
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	file := OpenCheckpointFile(path)
	ended := make(chan struct{})
	go func() {
		_ = child.Wait()
		close(ended)
	}()
	for {
		if c, err := file.Load(); err == nil && c.Sequence > 10 && c.Steps > 100 {
			break
		}
		select {
		case <-ended:
			t.Fatal("the child ended by itself")
		case <-time.After(5 * time.Millisecond):
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	c, err := file.Load()
	if err != nil {
		t.Fatal(err)
	}
	s := f.session(chainKernel(), quick)
	if err := s.Restore(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	run(t, s, 500)
	wantWords(t, words(t, s, "Cells", chainCells), chainAfter(c.Steps+500))
	t.Logf("killed after checkpoint %d, at step %d", c.Sequence, c.Steps)
}

// savingFile is the environment variable with the checkpoint file of a child that saves,
// without a GPU, until it is killed.
const savingFile = "RESIDENT_TEST_SAVES"

// numbers returns a checkpoint in which every step changes some chunks, and each chunk
// contains the step that changed it.
func numbers(step uint64) *Checkpoint {
	data := make([]byte, 11*chunkBytes+77)
	for at := 0; at < len(data); at += chunkBytes {
		last := step - (step+uint64(at/chunkBytes))%5 // a fifth of them
		copy(data[at:], fmt.Sprintf("chunk %d, step %d", at/chunkBytes, last))
	}
	return &Checkpoint{Steps: step, states: []savedState{{"Numbers", data}}, groups: make([]groupProgress, 9)}
}

func TestChildSavesUntilItIsKilled(t *testing.T) {
	path := os.Getenv(savingFile)
	if path == "" {
		t.Skip("is the child of TestKilledWhileItSaves")
	}
	file := OpenCheckpointFile(path)
	step := uint64(10)
	if c, err := file.Load(); err == nil {
		step = c.Steps
	}
	for {
		step++
		written, err := file.Save(numbers(step))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println("saved", step, written)
	}
}

// TestKilledWhileItSaves kills a process that only saves, repeatedly at random times. The
// last checkpoint that it reported as saved is there, and valid.
func TestKilledWhileItSaves(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	whole := size(numbers(0))
	for round := range 20 {
		saved := killedSaver(t, path, time.Duration(rand.IntN(20_000))*time.Microsecond, whole)
		c, err := OpenCheckpointFile(path).Load()
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if c.Steps < saved || c.Steps > saved+1 {
			t.Fatalf("round %d: step %d was saved last, step %d was loaded", round, saved, c.Steps)
		}
		wantCheckpoint(t, c, numbers(c.Steps))
	}
}

// killedSaver kills a child some time after its third save, the first that writes a part.
// It returns the last step that the child reported as saved.
func killedSaver(t *testing.T, path string, after time.Duration, whole int64) (saved uint64) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestChildSavesUntilItIsKilled$")
	child.Env = append(os.Environ(), savingFile+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	saves := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var written int64
		if n, _ := fmt.Sscanf(lines.Text(), "saved %d %d", &saved, &written); n != 2 {
			continue
		}
		saves++
		if saves == 3 {
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
		if saves >= 3 && written >= whole/2 {
			t.Errorf("save %d wrote %d bytes of %d", saves, written, whole)
		}
	}
	if err := child.Wait(); err == nil || saves < 3 {
		t.Fatalf("the child ended by itself, after step %d: %v", saved, err)
	}
	return saved
}

// size returns the bytes of a checkpoint.
func size(c *Checkpoint) int64 {
	n, _ := c.WriteTo(io.Discard)
	return n
}

// wantCheckpoint compares all but the sequence.
func wantCheckpoint(t testing.TB, got, want *Checkpoint) {
	t.Helper()
	numbered := *want
	numbered.Sequence = got.Sequence
	if !slices.EqualFunc(got.pieces(), numbered.pieces(), bytes.Equal) {
		t.Fatalf("checkpoint of step %d is not that of step %d", got.Steps, want.Steps)
	}
}
