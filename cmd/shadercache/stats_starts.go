package main

import (
	"fmt"
	"io"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

// startsLine holds the figures of starts.
type startsLine struct {
	Since            *time.Time `json:"since"`              // begin of the figures; null = the first start that is known
	Starts           uint64     `json:"starts"`             // processes that got programs
	ResidentHits     uint64     `json:"resident_hits"`      // requests answered by a resident program
	MemoryHits       uint64     `json:"memory_hits"`        // programs that were evicted and loaded again from memory
	DiskHits         uint64     `json:"disk_hits"`          // programs loaded from disk
	Compiles         uint64     `json:"compiles"`           // programs compiled
	Rejected         uint64     `json:"rejected"`           // binaries that the driver refused
	CompilesPerStart float64    `json:"compiles_per_start"` // mean
	DiskRate         float64    `json:"disk_rate"`          // disk_hits of disk_hits and compiles, 0 to 1
	ResidentRate     float64    `json:"resident_rate"`      // resident_hits of all requests, 0 to 1
	FirstMillis      float64    `json:"first_ms"`           // mean, 0 = unknown: from the begin of the cache until the first program was ready
	SavedMillis      float64    `json:"saved_ms"`           // compile time less load time

	// MachineCodeMisses is the number of programs that were loaded and whose machine code
	// the driver made again.
	MachineCodeMisses uint64 `json:"machine_code_misses"`
}

// beginOf returns the begin of the figures of the latest time; of all where since is 0.
func beginOf(dir *binary.Dir, since time.Duration) time.Time {
	begin := dir.ZeroTime()
	if since > 0 {
		if earliest := time.Now().Add(-since).UTC(); earliest.After(begin) {
			begin = earliest
		}
	}
	return begin
}

// newStartsLine sums up the starts since a time.
func newStartsLine(dir *binary.Dir, begin time.Time) startsLine {
	c := cli.SumStarts(dir.Starts(begin))
	line := startsLine{
		Starts:       c.Starts,
		ResidentHits: c.ResidentHits,
		MemoryHits:   c.MemoryHits,
		DiskHits:     c.DiskHits,
		Compiles:     c.Compiles - min(c.StoreOnly, c.Compiles),
		Rejected:     c.Rejected,

		MachineCodeMisses: c.MachineCodeMisses,

		CompilesPerStart: c.CompilesPerStart(),
		DiskRate:         c.DiskRate(),
		ResidentRate:     c.ResidentRate(),
		FirstMillis:      cli.Milliseconds(c.FirstReady()),
		SavedMillis:      cli.Milliseconds(time.Duration(max(c.SavedNanos, 0))),
	}
	if !begin.IsZero() {
		line.Since = &begin
	}
	return line
}

func (s *startsLine) Print(w io.Writer) {
	since := ""
	if s.Since != nil {
		since = " since " + s.Since.Local().Format(time.DateTime)
	}
	if s.Starts == 0 {
		fmt.Fprintf(w, "no starts%s\n", since)
		return
	}
	first := "" // records of older versions do not have it
	if s.FirstMillis > 0 {
		first = fmt.Sprintf(", the first program ready after %.1f ms", s.FirstMillis)
	}
	fmt.Fprintf(w, "%s%s: %.1f compiled a start, %.1f%% found on disk, %.1f%% of requests resident%s\n",
		cli.Plural(s.Starts, "start"), since, s.CompilesPerStart, 100*s.DiskRate, 100*s.ResidentRate, first)
}
