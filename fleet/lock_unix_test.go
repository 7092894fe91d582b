//go:build unix

package fleet_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
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
