package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/fleet"
)

// levelLine is one of the levels that a request for a program goes through: memory, disk,
// upstream, remote. A miss is passed on to the next one; programs are compiled after the
// last.
type levelLine struct {
	Level     string           `json:"level"`              // memory, disk, upstream or remote
	Hits      uint64           `json:"hits"`               // programs; of remote: starts
	Misses    uint64           `json:"misses"`             // an error is none
	Errors    uint64           `json:"errors"`             // what could not be read or used
	Bytes     int64            `json:"bytes"`              // of hits; of memory: not counted
	Millis    float64          `json:"time_ms"`            // spent on hits; of memory: on programs that were evicted before
	Backfills uint64           `json:"backfills"`          // programs copied to disk from this level
	Classes   map[string]int64 `json:"by_class,omitempty"` // errors of remote
}

// newLevels returns all levels, from the counters of a directory and of its remotes.
func newLevels(c binary.Counters, far fleet.Counters) []levelLine {
	here := c.DiskHits - min(c.UpstreamHits, c.DiskHits)
	missed := c.Compiles + c.CompileErrors
	return []levelLine{
		{Level: "memory", Hits: c.ResidentHits + c.MemoryHits, Misses: c.DiskHits + missed, Millis: milliseconds(c.MemoryNanos)},
		{Level: "disk", Hits: here, Misses: c.UpstreamHits + missed, Errors: c.Damaged + c.Rejected + c.WrongAnswers + c.StoreFailures,
			Bytes: max(c.LoadedBytes-c.UpstreamBytes, 0), Millis: milliseconds(max(c.LoadNanos-c.MemoryNanos-c.UpstreamNanos, 0))},
		{Level: "upstream", Hits: c.UpstreamHits, Misses: c.UpstreamMisses, Bytes: c.UpstreamBytes, Millis: milliseconds(c.UpstreamNanos), Backfills: c.Backfilled},
		{Level: "remote", Hits: uint64(far.Hits), Misses: uint64(far.Misses), Errors: uint64(errorCount(far)), Bytes: far.Bytes,
			Millis: cli.Milliseconds(far.Time), Backfills: uint64(far.Backfills), Classes: far.Errors},
	}
}

func milliseconds(nanos int64) float64 { return cli.Milliseconds(time.Duration(nanos)) }

func printLevels(w io.Writer, levels []levelLine) {
	fmt.Fprint(w, "\nlevel\thits\tmisses\terrors\tbytes\ttime\tbackfills\n")
	for _, l := range levels {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\t%d\n", l.Level, l.Hits, l.Misses, l.Errors, cli.ReadableBytes(l.Bytes),
			cli.ReadableDuration(time.Duration(l.Millis*float64(time.Millisecond))), l.Backfills)
	}
}

// addLevels adds the metrics of levels.
func addLevels(m *cli.Metrics, levels []levelLine) {
	for _, metric := range []struct {
		name, help string
		value      func(levelLine) float64
	}{
		{"hits", "Requests that a level answered; of remote: starts.", func(l levelLine) float64 { return float64(l.Hits) }},
		{"misses", "Requests that a level passed on.", func(l levelLine) float64 { return float64(l.Misses) }},
		{"errors", "What a level could not read or use.", func(l levelLine) float64 { return float64(l.Errors) }},
		{"bytes", "Bytes of hits.", func(l levelLine) float64 { return float64(l.Bytes) }},
		{"seconds", "Time spent on hits.", func(l levelLine) float64 { return l.Millis / 1e3 }},
		{"backfills", "Programs copied to disk from a level.", func(l levelLine) float64 { return float64(l.Backfills) }},
	} {
		name := "level_" + metric.name + "_total"
		m.Begin(name, "counter", metric.help)
		for _, l := range levels {
			m.Sample(name, metric.value(l), "level", l.Level)
		}
	}
	m.Begin("remote_errors_total", "counter", "Errors of remotes by class.")
	for _, l := range levels {
		for _, class := range slices.Sorted(maps.Keys(l.Classes)) {
			m.Sample("remote_errors_total", float64(l.Classes[class]), "class", class)
		}
	}
}

// errorCount returns the errors of all classes.
func errorCount(c fleet.Counters) (total int64) {
	for _, n := range c.Errors {
		total += n
	}
	return total
}
