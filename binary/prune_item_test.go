package binary

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// mesaFile returns the file of an entry of Mesa's cache.
func mesaFile(d *Dir, entry string) string {
	return filepath.Join(d.DriverDir(), "mesa", "mesa_shader_cache", entry[:2], entry[2:])
}

// entryName returns a name of 40 digits that begins with a number.
func entryName(n int) string { return fmt.Sprintf("%02d%038d", n, 0) }

// attributedFixture has programs 1 to 4, used that many hours ago, each with the entry of
// its number; 3 and 4 also use entry 34. Program 5 of another driver uses entry 5, 9 hours
// ago. Entry 7 belongs to no program and is 7 hours old. Every file of the driver is
// older than every program, as after an import.
func attributedFixture(t *testing.T) (*Dir, *Store) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	other := openTestStore(t, d, otherFingerprint)
	for n := 1; n <= 5; n++ {
		b, store, used := testBlob(n), s, start.Add(-time.Duration(n)*time.Hour)
		entries := []string{entryName(n)}
		switch n {
		case 3, 4:
			entries = append(entries, entryName(34))
		case 5:
			store, used = other, start.Add(-9*time.Hour)
			b.Fingerprint = otherFingerprint.Digest()
		}
		putBlobs(t, store, b)
		must(t, os.Chtimes(store.blobPath(b.Key), start.Add(-100*time.Hour), start.Add(-100*time.Hour)))
		must(t, store.Record([]Use{{Key: b.Key, LastUse: used, Hits: 1, DriverEntries: entries}}, Counters{DiskHits: 1}))
	}
	for _, n := range []int{1, 2, 3, 4, 5, 34} {
		writeTestFile(t, mesaFile(d, entryName(n)), make([]byte, 1000), start.Add(-50*time.Hour))
	}
	writeTestFile(t, mesaFile(d, entryName(7)), make([]byte, 1000), start.Add(-7*time.Hour))
	return d, s
}

// leftEntries lists the programs and the entries that a prune left, both by number.
func leftEntries(t *testing.T, d *Dir, s *Store) string {
	var left []string
	for n := 1; n <= 4; n++ {
		if _, err := os.Stat(s.blobPath(testKey(n))); err == nil {
			left = append(left, fmt.Sprint(n))
		}
	}
	for _, n := range []int{1, 2, 3, 4, 34, 5, 7} {
		if _, err := os.Stat(mesaFile(d, entryName(n))); err == nil {
			left = append(left, fmt.Sprintf("e%d", n))
		}
	}
	return strings.Join(left, " ")
}

// Programs are deleted with the entries that no other program uses, the least recently
// used first, whatever the times of the files are.
func TestPruneDeletesBothLayers(t *testing.T) {
	for _, test := range []struct {
		name    string
		options PruneOptions
		left    string
	}{
		{"one file", PruneOptions{MaxFiles: 11}, "1 2 3 4 e1 e2 e3 e4 e34 e7"}, // program 5 goes with its entry
		{"no program", PruneOptions{MaxFiles: 9}, "1 2 3 4 e1 e2 e3 e4 e34"},
		{"shared entry", PruneOptions{MaxFiles: 8}, "1 2 3 e1 e2 e3 e34"},
		{"its last program", PruneOptions{MaxFiles: 6}, "1 2 e1 e2"},
		{"age", PruneOptions{MaxAge: 150 * time.Minute}, "1 2 e1 e2"},
		{"bytes", PruneOptions{MaxBytes: 3500}, "1 2 e1 e2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d, s := attributedFixture(t)
			dry := test.options
			dry.DryRun = true
			would, err := d.Prune(dry)
			must(t, err)
			did, err := d.Prune(test.options)
			must(t, err)
			if would != did {
				t.Errorf("a dry run reports %+v, then %+v", would, did)
			}
			if got := leftEntries(t, d, s); got != test.left {
				t.Errorf("left %s, want %s", got, test.left)
			}
		})
	}
}

// Without any attribution, as after an import or the loss of the index, a prune to half
// deletes half of the machine code and not all of it, though its files are older than
// every use.
func TestPruneOfUnknownEntries(t *testing.T) {
	d, s := attributedFixture(t)
	for _, store := range []*Store{s, openTestStore(t, d, otherFingerprint)} {
		must(t, os.Remove(filepath.Join(store.path, "index.db")))
		for key := range store.blobFiles() {
			used := start.Add(-time.Duration(key[0]) * time.Minute)
			must(t, os.Chtimes(store.blobPath(key), used, used))
		}
	}
	if _, err := d.Prune(PruneOptions{MaxFiles: 6}); err != nil {
		t.Fatal(err)
	}
	entries := slices.DeleteFunc(strings.Fields(leftEntries(t, d, s)), func(name string) bool { return name[0] != 'e' })
	if len(entries) < 2 || len(entries) > 5 {
		t.Errorf("entries %v are left of 7", entries)
	}
}
