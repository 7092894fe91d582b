package cache

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// historyWindow is how many programs PreloadHistory begins at a time: they share the
// driver's threads, and bound what is done after the budget.
const historyWindow = 8

// PreloadHistory makes resident what earlier starts with Options.History asked for, of
// executables whose file has this one's name: the programs of most starts first, and of as many
// those that were asked for earlier, as many as stay resident. Their texts come from the directory; a program whose text is not there
// is left out, and so is one whose source has a check that its binary has not passed. It is Preload
// for the rest: progress, results and errors are the same. After a budget of more than 0 no
// further programs are begun; 8 at most are under way then. That is no error: programs that were
// not begun have no result.
func (c *Cache) PreloadHistory(ctx context.Context, budget time.Duration, progress func(PreloadResult)) ([]PreloadResult, error) {
	began := c.clock.wall()
	set := c.store.StartSet(executableName())
	set = set[:min(len(set), c.options.MaxPrograms)]
	var results []PreloadResult
	for window := range slices.Chunk(set, historyWindow) {
		if budget > 0 && c.clock.wall().Sub(began) >= budget {
			break
		}
		done, err := c.Preload(ctx, c.keptSources(window), progress)
		results = append(results, done...)
		if err != nil {
			return results, err
		}
	}
	return results, nil
}

// keptSources returns the sources of programs whose text is in the directory.
func (c *Cache) keptSources(set []binary.Asked) (sources []*shader.Source) {
	for _, p := range set {
		if p.Checked && !c.hasPassed(p.Key) {
			continue
		}
		src, err := c.store.Source(p.Key)
		switch {
		case err == nil:
			if src = src.WithName(p.Name); p.Checked { // the history of this start says so too
				src = src.WithCheck(func(context.Context, uint32) error { return shader.ErrCheckLater })
			}
			sources = append(sources, src)
		case !errors.Is(err, binary.ErrNotFound):
			c.checkStore("reading a source", err)
		}
	}
	return sources
}

// hasPassed reports whether the binary of a program is stored and has passed its check: a
// text has no check, so a program of it would be used unchecked.
func (c *Cache) hasPassed(key shader.Key) bool {
	blob, err := c.store.Get(key)
	return err == nil && c.isChecked(blob)
}

// executableName returns the name of the executable's file.
func executableName() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Base(path)
}

// history collects what this process asks for.
type history struct {
	began time.Time

	mu       sync.Mutex // may be locked while Cache.mu is held
	seen     map[shader.Key]bool
	sources  []*shader.Source // in the order in which they were asked for
	programs []binary.Asked
}

// maxHistory bounds the programs of a history; the directory keeps as many.
const maxHistory = 1000

// startHistory begins to record, where that is wanted.
func (c *Cache) startHistory() {
	if c.options.History && c.hasStore() && !c.options.FillOnly && !c.options.InTrial {
		c.history = &history{began: c.clock.wall(), seen: map[shader.Key]bool{}}
	}
}

// add records the first request for a program.
func (h *history) add(src *shader.Source, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.seen[src.Key()] || len(h.programs) >= maxHistory {
		return
	}
	h.seen[src.Key()] = true
	h.sources = append(h.sources, src)
	h.programs = append(h.programs, binary.Asked{Key: src.Key(), Name: src.Name(), Millis: float64(now.Sub(h.began)) / 1e6, Checked: src.Check() != nil})
}

// putHistory stores what was recorded, and the texts.
func (c *Cache) putHistory() {
	h := c.history
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.programs) == 0 {
		return
	}
	var errs []error
	for _, src := range h.sources {
		errs = append(errs, c.store.PutSource(src))
	}
	errs = append(errs, c.store.PutHistory(h.began, executableName(), h.programs))
	c.checkStore("recording the history", errors.Join(errs...))
}
