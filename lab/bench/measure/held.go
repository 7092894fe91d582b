package measure

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
)

// Held is what a process holds that a soak must not make grow.
type Held struct {
	Goroutines  int   `json:"goroutines"`
	Descriptors int   `json:"descriptors"` // open files; 0 where the system does not list them
	Buffers     int64 `json:"buffers"`
	Fences      int64 `json:"fences"`
	InUse       int   `json:"programs_in_use"` // handles
}

// TakeHeld counts what the process holds now.
func TakeHeld(g *cli.GPU) Held {
	n := g.Context.Counters()
	files, _ := os.ReadDir("/proc/self/fd")
	return Held{
		Goroutines:  runtime.NumGoroutine(),
		Descriptors: len(files),
		Buffers:     n.Buffers,
		Fences:      n.Fences,
		InUse:       g.Cache.Stats().InUse,
	}
}

// exitTime is how long finished goroutines may take to exit on a busy machine.
const exitTime = 5 * time.Second

// AwaitGoroutines waits until the process has as few goroutines as before, for a limited
// time: one still counts for a moment after it has ended.
func (h *Held) AwaitGoroutines(before Held) {
	for deadline := time.Now().Add(exitTime); h.Goroutines > before.Goroutines && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		h.Goroutines = runtime.NumGoroutine()
	}
}

// Grown describes what is more than before.
func (h Held) Grown(before Held) []string {
	list := []string{}
	for _, count := range []struct {
		what          string
		before, after int64
	}{
		{"goroutines", int64(before.Goroutines), int64(h.Goroutines)},
		{"descriptors", int64(before.Descriptors), int64(h.Descriptors)},
		{"buffers", before.Buffers, h.Buffers},
		{"fences", before.Fences, h.Fences},
		{"programs in use", int64(before.InUse), int64(h.InUse)},
	} {
		if count.after > count.before {
			list = append(list, fmt.Sprintf("%s: %d before, %d at the end", count.what, count.before, count.after))
		}
	}
	return list
}

// Grew returns the failure of a soak in which something grew.
func Grew(what string) error {
	return cli.Hint(fmt.Errorf("bench: soak: grew: %s", what), "repeat it for longer: if it grows with the time, this program leaks it")
}

// Stalled returns the failure of a soak in which something took far too long.
func Stalled(what string) error {
	return cli.Hint(errors.New("bench: soak: stall: "+what), "repeat it while nothing else runs on the machine: if it stalls again, the driver or this program holds it up")
}
