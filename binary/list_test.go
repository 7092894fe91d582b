package binary

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// Entries are unpacked as they were packed, in order, across pages.
func TestPackedEntries(t *testing.T) {
	var all packedEntries
	want := []Entry{
		{Key: testKey(1), Name: ""},
		{Key: testKey(2), Name: "a", Created: start, LastUse: start.Add(time.Nanosecond)},
		{Key: testKey(3), Name: strings.Repeat("long", maxNameBytes/4), Bytes: math.MaxInt64, RawBytes: -1,
			Hits: math.MaxUint64, CompileNanos: math.MinInt64, LoadNanos: math.MaxInt64},
	}
	for n := range 200 {
		want = append(want, Entry{Key: testKey(n + 10), Name: strings.Repeat("n", n*5), Bytes: int64(n), Hits: uint64(n)})
	}
	for _, e := range want {
		all.pack(&e)
	}
	slices.SortFunc(want, func(a, b Entry) int {
		if byName := strings.Compare(a.Name, b.Name); byName != 0 {
			return byName
		}
		return compareKeys(a.Key, b.Key)
	})
	all.sort()
	if len(all.entries) != len(want) {
		t.Fatalf("%d of %d entries", len(all.entries), len(want))
	}
	for n, p := range all.entries {
		if got := p.unpack(); got != want[n] {
			t.Errorf("got  %+v\nwant %+v", got, want[n])
		}
	}
}

// A damaged index may hold names and times that no blob can hold: they are cut.
func TestPackedEntryIsCut(t *testing.T) {
	var all packedEntries
	all.pack(&Entry{Name: strings.Repeat("x", 4*maxNameBytes), LastUse: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)})
	if e := all.entries[0].unpack(); len(e.Name) != maxNameBytes || !e.LastUse.IsZero() {
		t.Errorf("a name of %d bytes, last use %v", len(e.Name), e.LastUse)
	}
}
