package binary

import (
	"bufio"
	"encoding/json"
	"maps"
	"path/filepath"

	"github.com/shadercache/shadercache/internal/osfile"
)

// maxStatsBytes bounds cache_stats.json, which has 500 bytes a fingerprint.
const maxStatsBytes = 4 << 20

// statsFile is cache_stats.json: the lifetime counters of every fingerprint
// that ever was in the directory, for people and scripts. Each index has the
// counters of its own fingerprint; this file stands in for one that is busy,
// lost or pruned. Two drivers that write it at the same moment may lose an
// update of it, which the next Record makes good.
type statsFile struct {
	Fingerprints map[string]Counters `json:"fingerprints"` // by directory name
	Lifetime     lifetimeStats       `json:"lifetime"`     // their sum
}

type lifetimeStats struct {
	Counters
	HitRate     float64 `json:"hit_rate"`
	SavedMillis float64 `json:"saved_ms"`
}

// Lifetime sums the counters of every fingerprint, of processes that have
// recorded them so far.
func (d *Dir) Lifetime() (Counters, error) {
	stores, err := d.stores()
	if err != nil {
		return Counters{}, err
	}
	all := d.readStats().Fingerprints
	for _, s := range stores {
		if c, err := s.loadLifetime(); err == nil {
			all[s.name] = c
		}
	}
	return sum(all), nil
}

func sum(all map[string]Counters) (total Counters) {
	for c := range maps.Values(all) {
		total.Add(c)
	}
	return total
}

// readStats reads cache_stats.json. One that is missing or damaged counts as
// empty; the map is never nil.
func (d *Dir) readStats() statsFile {
	data, _, err := readRegular(filepath.Join(d.path, statsName), maxStatsBytes)
	var file statsFile
	if err != nil || json.Unmarshal(data, &file) != nil || file.Fingerprints == nil {
		return statsFile{Fingerprints: map[string]Counters{}}
	}
	return file
}

// writeStats writes cache_stats.json with new counters for one fingerprint.
func (d *Dir) writeStats(name string, counters Counters) error {
	file := d.readStats()
	file.Fingerprints[name] = counters
	total := sum(file.Fingerprints)
	file.Lifetime = lifetimeStats{total, total.HitRate(), millis(total.SavedNanos)}
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	return osfile.WriteUnsynced(filepath.Join(d.path, statsName), func(w *bufio.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}
