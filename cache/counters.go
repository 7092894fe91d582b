package cache

import (
	"cmp"
	"maps"
	"slices"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// pendingCounters holds counters, and uses until the store has recorded them. Its owner
// guards it with Cache.mu.
type pendingCounters struct {
	total    binary.Counters // since New
	recorded binary.Counters // of them, what the store has recorded

	uses map[shader.Key]binary.Use // not recorded yet; nil: there is no store

	fillOnly bool             // Options.FillOnly
	started  bool             // a start was counted
	compiled []*shader.Source // for Store.PutCompiled, the latest
	made     []madeProgram    // whose machine code is not attributed yet
}

// maxMade bounds pendingCounters.made in a process that never records.
const maxMade = 1024

// madeProgram is a program that was compiled or loaded.
type madeProgram struct {
	use         binary.Use
	machineCode func() (entries []string, made bool)
	counted     bool // its missing machine code was counted
	loaded      bool
}

// addMachineCode counts programs that were loaded and whose machine code was missing. If
// settled, it adds the entries of the driver's cache to their uses, which ends the list.
func (p *pendingCounters) addMachineCode(settled bool) {
	for i := range p.made {
		m := &p.made[i]
		entries, made := m.machineCode()
		if made && m.loaded && !m.counted {
			m.counted = true
			p.total.MachineCodeMisses++
		}
		if settled && len(entries) > 0 {
			m.use.DriverEntries = entries
			p.addUse(m.use)
		}
	}
	if settled {
		p.made = nil
	}
}

// maxCompiled bounds the sources in pendingCounters.compiled.
const maxCompiled = 64

// collect adds what handles of e have counted since the last call for e.
func (p *pendingCounters) collect(e *entry) {
	hits := e.hits()
	last := e.lastUse()
	if e.handles() > 0 {
		last = e.clock.elapsed()
	}
	if hits == e.countedHits && last == e.countedUse {
		return
	}
	use := e.use()
	use.Hits = hits - e.countedHits
	use.LastUse = e.clock.at(last)
	p.total.ResidentHits += use.Hits
	p.addUse(use)
	e.countedHits, e.countedUse = hits, last
}

// addLoad counts a program that was compiled or loaded, and its cost. blob is
// what it was loaded from, or nil; storeOnly: the program is for the store.
func (p *pendingCounters) addLoad(src *shader.Source, e *entry, blob *binary.Blob, storeOnly bool) {
	use := e.use()
	storeOnly = storeOnly || p.fillOnly
	if !storeOnly && !p.started {
		p.started = true
		p.total.Starts++
		p.total.FirstNanos += e.clock.elapsed()
	}
	switch e.origin {
	case job.Compiled:
		p.total.Compiles++
		p.total.CompileNanos += e.measured.CompileNanos
		if storeOnly {
			p.total.StoreOnly++
		} else if p.uses != nil {
			p.compiled = append(p.compiled[max(0, len(p.compiled)+1-maxCompiled):], src)
		}
	case job.Disk:
		p.total.DiskHits++
		p.total.LoadedBytes += int64(len(blob.Payload))
		if blob.Upstream {
			p.total.UpstreamHits++
			p.total.UpstreamNanos += e.measured.LoadNanos
			p.total.UpstreamBytes += int64(len(blob.Payload))
		}
	case job.Memory:
		p.total.MemoryHits++
		p.total.MemoryNanos += e.measured.LoadNanos
	}
	if blob != nil {
		use.Hits = 1
		p.total.LoadNanos += e.measured.LoadNanos
		if blob.CompileNanos > 0 {
			p.total.SavedNanos += max(0, blob.CompileNanos-e.measured.LoadNanos)
		}
	}
	p.addUse(use)
	if e.program.MachineCode != nil {
		if len(p.made) >= maxMade {
			p.addMachineCode(true)
		}
		use.Hits = 0
		p.made = append(p.made, madeProgram{use: use, machineCode: e.program.MachineCode, loaded: e.origin != job.Compiled})
	}
}

// addUse adds hits up and keeps the latest of everything else.
func (p *pendingCounters) addUse(use binary.Use) {
	if p.uses == nil {
		return
	}
	old, found := p.uses[use.Key]
	if !found {
		p.uses[use.Key] = use
		return
	}
	old.Hits += use.Hits
	if !use.LastUse.Before(old.LastUse) {
		old.LastUse, old.Name = use.LastUse, use.Name
	}
	old.CompileNanos = cmp.Or(use.CompileNanos, old.CompileNanos)
	old.LoadNanos = cmp.Or(use.LoadNanos, old.LoadNanos)
	old.FirstResultNanos = cmp.Or(use.FirstResultNanos, old.FirstResultNanos)
	if use.GPUNanos != 0 {
		old.GPUNanos, old.GFLOPS = use.GPUNanos, use.GFLOPS
	}
	if use.DriverEntries != nil {
		old.DriverEntries = use.DriverEntries
	}
	p.uses[use.Key] = old
}

// takeUses returns the uses that are not recorded, and forgets them.
func (p *pendingCounters) takeUses() []binary.Use {
	uses := slices.Collect(maps.Values(p.uses))
	clear(p.uses)
	return uses
}

// giveBack takes back uses that the store did not record. Those that were added meanwhile
// are newer.
func (p *pendingCounters) giveBack(uses []binary.Use) {
	for _, use := range slices.Concat(uses, p.takeUses()) {
		p.addUse(use)
	}
}
