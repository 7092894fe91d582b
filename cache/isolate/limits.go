package isolate

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// limits bound what a child takes for one program. The pool enforces them, and sends
// them to the child, which enforces looser ones itself in case the pool cannot.
type limits struct {
	Timeout     time.Duration `json:"timeout_ns"`
	MemoryBytes int64         `json:"memory_bytes"` // more than before the program; 0 = no limit
}

// loosened returns the limits that a child enforces.
func (l limits) loosened() limits {
	return limits{l.Timeout + l.Timeout/4 + 10*time.Second, l.MemoryBytes + l.MemoryBytes/4}
}

// tick returns how often to call meter.exceeded. A program that takes 2 GiB a second
// is found 40 MiB late.
func (l limits) tick() time.Duration {
	return min(20*time.Millisecond, max(l.Timeout/4, time.Millisecond))
}

// meter measures what one process takes for one program.
type meter struct {
	limits
	process int
	before  int64         // bytes of memory at the first tick; negative = not measured
	took    time.Duration // since the start
	last    time.Time     // when took was updated
}

// maxTick bounds the time that one call of exceeded counts. While this process is
// stopped, its child is stopped too as a rule, and takes no time.
const maxTick = time.Second

func newMeter(l limits, process int) *meter {
	return &meter{limits: l, process: process, before: -1, last: time.Now()}
}

// exceeded returns which limit is exceeded, or nil.
func (m *meter) exceeded() *LostError {
	now := time.Now()
	m.took += min(now.Sub(m.last), maxTick)
	m.last = now
	if m.took >= m.Timeout {
		return &LostError{TimedOut: true, Err: fmt.Errorf("it took longer than %s, so its process was ended", m.Timeout)}
	}
	if m.overMemory() {
		return &LostError{OverMemory: true, Err: fmt.Errorf("it took more than %d MiB of memory, so its process was ended", m.MemoryBytes>>20)}
	}
	return nil
}

// overMemory measures memory from the second call on: most programs take less than a
// tick, and reading the memory of a process takes as long as loading a program.
func (m *meter) overMemory() bool {
	if m.MemoryBytes <= 0 {
		return false
	}
	memory := memoryOf(m.process)
	if m.before < 0 {
		m.before = memory
	}
	return memory-m.before > m.MemoryBytes
}

// The bounds of the default of Pool.MaxMemoryBytes.
const (
	minDefaultMemory = 512 << 20
	maxDefaultMemory = 4 << 30
)

// DefaultMemoryBytes returns the default of Pool.MaxMemoryBytes for a number of
// children: their share of three quarters of the memory of the machine or the
// container, at least 512 MiB and at most 4 GiB.
func DefaultMemoryBytes(jobs int) int64 {
	share := osfile.MachineMemory() / 4 * 3 / int64(max(jobs, 1))
	return min(max(share, minDefaultMemory), maxDefaultMemory)
}
