package main

import (
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
)

// The time of a hit counts for the level that answered, and a level that there is not has
// no misses.
func TestLevelsHaveTheirOwnTimeAndMisses(t *testing.T) {
	const ms = 1e6
	c := binary.Counters{MemoryHits: 1, DiskHits: 5, UpstreamHits: 2, Compiles: 30, LoadNanos: 10 * ms, MemoryNanos: 1 * ms, UpstreamNanos: 6 * ms}
	for i, want := range []levelLine{
		{Level: "memory", Hits: 1, Misses: 35, Millis: 1},
		{Level: "disk", Hits: 3, Misses: 32, Millis: 3},
		{Level: "upstream", Hits: 2, Misses: 0, Millis: 6},
		{Level: "remote"},
	} {
		if got := newLevels(c, fleet.Counters{})[i]; got.Level != want.Level || got.Hits != want.Hits || got.Misses != want.Misses || got.Millis != want.Millis {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}
