package cache

// Save is when a cache writes programs to its store: see Options.Save.
type Save int

const (
	SaveBehind  Save = iota // in the background, as soon as they are compiled
	SaveAtFlush             // by Flush, Prune and Close alone, so that the disk is idle meanwhile
	SaveNever               // not at all: the store is only read; uses and counters are still recorded
)

// savesPrograms reports whether programs are written to the store at some time.
func (c *Cache) savesPrograms() bool { return c.hasStore() && c.options.Save != SaveNever }

// startWriting starts the writer, unless it runs, it is not the time, or there is nothing
// to write. The caller holds mu.
func (c *Cache) startWriting() {
	if !c.mu.writing && len(c.mu.queue) > 0 && (c.options.Save == SaveBehind || c.mu.saving > 0) {
		c.mu.writing = true
		c.background.Go(c.writeQueue)
	}
}

// awaitStored waits until the store has finished every task, and done, unless nil, returns
// true. Tasks that are added meanwhile are written too. The caller holds mu.
func (c *Cache) awaitStored(done func() bool) {
	c.mu.saving++
	defer func() { c.mu.saving-- }()
	c.startWriting()
	for c.mu.unstored > 0 || done != nil && !done() {
		c.mu.idle.Wait()
	}
}
