//go:build unix

package fleet_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A FIFO in the place of a file of the state holds up no pull and no push: opening it would
// wait for a writer, or a reader.
func TestStateThatIsFIFOs(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, s.victim, reader(s.url), mesaDriver)
	put(t, s.victim, mesaDriver, 4)
	push(t, s.victim, writer(s.url))
	for _, name := range []string{"*/lock", "*/counters.lock", "*/counters.jsonl", "*/*/pull.lock", "*/*/state.json", "*/*/*.items"} {
		found, err := filepath.Glob(filepath.Join(s.victim.Path(), "remote", name))
		if name == "*/*/*.items" && len(found) > 1 {
			found = found[:1]
		}
		if err != nil || len(found) != 1 {
			t.Fatal(name, found, err)
		}
		must(t, os.Remove(found[0]))
		must(t, syscall.Mkfifo(found[0], 0o600))
	}
	put(t, s.writer, mesaDriver, 3)
	push(t, s.writer, writer(s.url))
	pull(t, s.victim, reader(s.url), mesaDriver)
	wantPrograms(t, s.victim, mesaDriver, 1, 2, 3, 4)
	put(t, s.victim, mesaDriver, 5)
	push(t, s.victim, writer(s.url))
}

// A pull that waits for another process, which may be stopped, says so.
func TestPullThatWaits(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	pull(t, s.victim, reader(s.url), mesaDriver)
	locks, err := filepath.Glob(filepath.Join(s.victim.Path(), "remote", "*/*/pull.lock"))
	if err != nil || len(locks) != 1 {
		t.Fatal(locks, err)
	}
	for lock, word := range map[string]string{
		locks[0]: "the lock is " + locks[0] + ": fuser",
		filepath.Join(s.victim.Path(), ".import.lock"): "another import is running",
	} {
		put(t, s.writer, mesaDriver, len(word))
		push(t, s.writer, writer(s.url))
		f, err := os.Open(lock)
		must(t, err)
		must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
		said := make(chan string, 1)
		o := reader(s.url)
		o.Logger = slog.New(slog.NewTextHandler(writerFunc(func(line []byte) { said <- string(line) }), nil))
		var pulls sync.WaitGroup
		pulls.Go(func() { pull(t, s.victim, o, mesaDriver) })
		select {
		case line := <-said:
			if !strings.Contains(line, word) {
				t.Error(line)
			}
		case <-time.After(time.Minute):
			t.Error("it said nothing: ", word)
		}
		must(t, f.Close())
		pulls.Wait()
	}
}

type writerFunc func(line []byte)

func (fn writerFunc) Write(line []byte) (int, error) {
	fn(line)
	return len(line), nil
}
