package binary

import (
	"slices"
	"strings"
	"testing"
)

// ByName sorts by name, then key, and has no entries of the driver's cache.
func TestByNameSorts(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	var keys []string
	for n, name := range []string{"b", "a", "", "a"} {
		blob := testBlob(n)
		blob.Key, blob.Name = testKey(10-n), name
		must(t, s.Put(blob))
		keys = append(keys, blob.Key.String())
	}
	must(t, s.Record([]Use{{Key: testKey(10), DriverEntries: []string{"x"}}}, Counters{Compiles: 1}))
	var got []string
	for e := range s.ByName() {
		if e.DriverEntries != "" {
			t.Errorf("%s has entries %q", e.Name, e.DriverEntries)
		}
		got = append(got, e.Name+e.Key.String())
	}
	want := []string{keys[2], "a" + keys[1], "a" + keys[3], "b" + keys[0]}
	if slices.SortFunc(want[1:3], strings.Compare); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
