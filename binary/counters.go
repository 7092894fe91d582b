package binary

import (
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
)

// Counters counts what a cache did. Record adds the counters of a process to the
// lifetime counters of its fingerprint. EachMetric has the help of each.
type Counters struct {
	Starts        uint64 `json:"starts" help:"Processes that got programs."`
	ResidentHits  uint64 `json:"resident_hits" help:"Requests answered by a resident program."`
	MemoryHits    uint64 `json:"memory_hits" help:"Requests answered by a binary in memory."`
	DiskHits      uint64 `json:"disk_hits" help:"Requests answered from disk."`
	UpstreamHits  uint64 `json:"upstream_hits" help:"Of those from disk, those of an upstream directory."`
	Compiles      uint64 `json:"compiles" help:"Programs compiled."`
	StoreOnly     uint64 `json:"store_only" metric:"store_only_compiles_total" help:"Of the programs compiled, those for the store alone."`
	CompileErrors uint64 `json:"compile_errors" help:"Sources that failed to compile."`
	Rejected      uint64 `json:"rejected" help:"Binaries that the driver refused."`
	Damaged       uint64 `json:"damaged" help:"Binaries that a checksum refused."`
	WrongAnswers  uint64 `json:"wrong_answers" help:"Binaries that failed their check."`
	Trials        uint64 `json:"trials" help:"Suspects that were tried in a child process."`
	Quarantined   uint64 `json:"quarantined" metric:"quarantines_total" help:"Programs that crashed or hung the driver."`
	Refusals      uint64 `json:"refusals" help:"Requests for programs in quarantine."`
	NegativeHits  uint64 `json:"negative_hits" help:"Requests answered with a recorded compile error."`
	Evictions     uint64 `json:"evictions" help:"Programs evicted from memory."`
	OverCapacity  uint64 `json:"over_capacity" help:"Times that the limit was exceeded: every program was in use."`
	OutOfMemory   uint64 `json:"out_of_memory" help:"Times that the driver was out of memory."`
	LowMemory     uint64 `json:"low_memory" help:"Times that programs were evicted since the GPU's memory was low."`
	Stored        uint64 `json:"stored" help:"Binaries written."`
	Backfilled    uint64 `json:"backfilled" help:"Binaries copied from an upstream directory."`
	StoreFailures uint64 `json:"store_failures" help:"Reads and writes that failed."`

	// MachineCodeMisses counts programs that were loaded and whose machine code the
	// driver's own cache did not have, so that the driver made it again.
	MachineCodeMisses uint64 `json:"machine_code_misses" help:"Programs that were loaded and whose machine code was made again."`

	// Times have those of priming. SavedNanos is less the load time of the hits that saved it.
	FirstNanos   int64 `json:"first_ns" metric:"first_ready_seconds_total" help:"Time of all starts until the first program was ready."`
	CompileNanos int64 `json:"compile_ns" help:"Time spent compiling."`
	LoadNanos    int64 `json:"load_ns" help:"Time spent loading."`
	SavedNanos   int64 `json:"saved_ns" help:"Compile time saved."`

	LoadedBytes   int64 `json:"loaded_bytes" help:"Size of the binaries loaded from disk."`
	UpstreamBytes int64 `json:"upstream_bytes" help:"Of the bytes loaded, those of an upstream directory."`

	UpstreamRejected uint64 `json:"upstream_rejected" help:"Of the binaries refused or wrong, those of an upstream directory."`

	// UpstreamMisses counts compiles, and sources that failed, of caches with an upstream
	// directory. Record sets it.
	UpstreamMisses uint64 `json:"upstream_misses" help:"Requests that an upstream directory did not answer."`
	UpstreamNanos  int64  `json:"upstream_ns" metric:"upstream_load_seconds_total" help:"Of the time spent loading, for binaries of an upstream directory."`
	MemoryNanos    int64  `json:"memory_ns" metric:"memory_load_seconds_total" help:"Of the time spent loading, for binaries in memory."`
}

// Add adds o to c, field by field.
func (c *Counters) Add(o Counters) {
	c.combine(o, func(a, b uint64) uint64 { return a + b }, func(a, b int64) int64 { return a + b })
}

// combine sets each field to what a function makes of it and of that of o.
func (c *Counters) combine(o Counters, unsigned func(a, b uint64) uint64, signed func(a, b int64) int64) {
	ours, theirs := reflect.ValueOf(c).Elem(), reflect.ValueOf(&o).Elem()
	for i := range ours.NumField() {
		if f := ours.Field(i); f.CanUint() {
			f.SetUint(unsigned(f.Uint(), theirs.Field(i).Uint()))
		} else {
			f.SetInt(signed(f.Int(), theirs.Field(i).Int()))
		}
	}
}

// HitRate returns the share of requests that needed no compile, 0 to 1, and 0 without
// requests. Requests answered with a recorded compile error do not count.
func (c Counters) HitRate() float64 {
	return share(c.ResidentHits+c.MemoryHits+c.DiskHits, c.Compiles+c.CompileErrors)
}

// DiskRate returns the share of programs found on disk, of those that were not in memory,
// 0 to 1, and 0 where there were none. Programs made for the store alone do not count.
func (c Counters) DiskRate() float64 { return share(c.DiskHits, c.startCompiles()) }

// ResidentRate returns the share of requests answered by a resident program, 0 to 1, and 0
// without requests.
func (c Counters) ResidentRate() float64 {
	return share(c.ResidentHits, c.MemoryHits+c.DiskHits+c.startCompiles())
}

// CompilesPerStart returns the mean number of programs that a start compiled.
func (c Counters) CompilesPerStart() float64 {
	if c.Starts == 0 {
		return 0
	}
	return float64(c.startCompiles()) / float64(c.Starts)
}

// FirstReady returns the mean time of a start from the begin of its cache until the first
// program was ready.
func (c Counters) FirstReady() time.Duration {
	if c.Starts == 0 {
		return 0
	}
	return time.Duration(c.FirstNanos / int64(min(c.Starts, math.MaxInt64)))
}

// startCompiles returns the compiles that something waited for.
func (c Counters) startCompiles() uint64 { return c.Compiles - min(c.StoreOnly, c.Compiles) }

func share(part, rest uint64) float64 {
	if part == 0 {
		return 0
	}
	return float64(part) / float64(part+rest)
}

// Less returns c without what o counted. A field that is smaller than in o becomes 0.
func (c Counters) Less(o Counters) Counters {
	c.combine(o, func(a, b uint64) uint64 { return a - min(a, b) }, func(a, b int64) int64 { return max(a-b, 0) })
	return c
}

// maxStatsBytes bounds cache_stats.json, which has about 500 bytes per fingerprint.
const maxStatsBytes = 4 << 20

// statsFile is cache_stats.json: the lifetime counters of every fingerprint that was
// ever in the directory, for people and scripts. Each index has the counters of its own
// fingerprint; this file replaces those of an index that is busy, lost or pruned. When
// two processes write it at the same moment, one update may be lost until the next
// Record.
type statsFile struct {
	Fingerprints map[string]Counters `json:"fingerprints"` // by directory name
	Lifetime     lifetimeStats       `json:"lifetime"`     // their sum
}

var stats = whole[statsFile]{name: statsName, limit: maxStatsBytes, unsynced: true}

type lifetimeStats struct {
	Counters
	HitRate     float64 `json:"hit_rate"`
	SavedMillis float64 `json:"saved_ms"`
}

// Lifetime returns the sum of the counters of every fingerprint since the last [Dir.Zero],
// as recorded so far.
func (d *Dir) Lifetime() (Counters, error) {
	all, err := d.counters()
	zero, _ := zeros.read(d.path)
	for name, c := range all {
		all[name] = c.Less(zero.Fingerprints[name])
	}
	return sum(all), err
}

// counters returns the counters by fingerprint, whatever Zero did.
func (d *Dir) counters() (map[string]Counters, error) {
	stores, err := d.stores()
	if err != nil {
		return nil, err
	}
	all := d.readStats().Fingerprints
	for _, s := range stores {
		var known contents
		x, err := index.Open(s.path, true, pruneWait)
		if err == nil {
			err = known.load(x, false)
		}
		if err != nil { // busy for longer, damaged or missing
			known = contents{lifetime: all[s.name]}
		}
		_, pending := s.readPending(known.merged)
		x.Close() // a merge deletes what is pending
		known.apply(pending, nil)
		if known.lifetime != (Counters{}) {
			all[s.name] = known.lifetime
		}
	}
	return all, nil
}

func sum(all map[string]Counters) (total Counters) {
	for c := range maps.Values(all) {
		total.Add(c)
	}
	return total
}

// readStats reads cache_stats.json. A file that is missing or damaged counts as empty;
// the map is never nil.
func (d *Dir) readStats() statsFile {
	file, err := stats.read(d.path)
	if err != nil || file.Fingerprints == nil {
		return statsFile{Fingerprints: map[string]Counters{}}
	}
	return file
}

// writeStats writes cache_stats.json with the counters of one fingerprint replaced.
func (d *Dir) writeStats(name string, counters Counters) error {
	file := d.readStats()
	file.Fingerprints[name] = counters
	total := sum(file.Fingerprints)
	file.Lifetime = lifetimeStats{total, total.HitRate(), millis(total.SavedNanos)}
	return stats.write(d.path, file)
}

// zeroName is the file with the counters at the last [Dir.Zero], which Lifetime
// subtracts. The counters themselves stay: the indexes, which hold them, may be in use.
const zeroName = "stats_zero.json"

var zeros = whole[zeroFile]{name: zeroName, limit: maxStatsBytes}

type zeroFile struct {
	Time         time.Time           `json:"time"`
	Fingerprints map[string]Counters `json:"fingerprints"` // by directory name
}

// Zero makes the figures of [Dir.Lifetime], [Dir.Starts] and [Dir.Recompiled] begin
// again now. Processes that run record what they have not recorded yet afterwards.
func (d *Dir) Zero() error {
	all, err := d.counters()
	if err != nil {
		return err
	}
	err = zeros.write(d.path, zeroFile{d.now().UTC(), all})
	if err == nil {
		err = os.Remove(filepath.Join(d.path, compiledName))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return wrap("zero", err)
}

// ZeroTime returns the time of the last [Dir.Zero], and the zero time without one.
func (d *Dir) ZeroTime() time.Time {
	zero, _ := zeros.read(d.path)
	return zero.Time
}
