package main

import (
	"io"

	"github.com/shadercache/shadercache/internal/cli"
)

// writePrometheus writes the figures in Prometheus's text format. Counters are those of
// all drivers since the directory was made.
func (r *statsResult) writePrometheus(w io.Writer) error {
	m := cli.Metrics{Prefix: "shadercache_"}
	m.Begin("programs", "gauge", "Programs on disk.")
	for _, f := range r.Fingerprints {
		m.Sample("programs", float64(f.Programs), "driver", f.Label, "fingerprint", f.Digest.Short())
	}
	m.Begin("program_bytes", "gauge", "Size of the programs on disk.")
	for _, f := range r.Fingerprints {
		m.Sample("program_bytes", float64(f.BlobBytes), "driver", f.Label, "fingerprint", f.Digest.Short())
	}
	m.Begin("source_only", "gauge", "1 where the driver's program binaries are not used.")
	for _, f := range r.Fingerprints {
		value := 0.0
		if f.SourceOnly != "" {
			value = 1
		}
		m.Sample("source_only", value, "driver", f.Label, "fingerprint", f.Digest.Short())
	}
	m.Add("driver_cache_bytes", "gauge", "Size of the driver's own cache.", float64(r.DriverCacheBytes))
	m.Add("quarantined_programs", "gauge", "Programs in quarantine.", float64(len(r.Quarantined)))
	m.Add("suspect_programs", "gauge", "Programs to be tried: a process ended while the driver had them.", float64(len(r.Suspects)))
	c := r.counters
	for _, counter := range []struct {
		name, help string
		value      uint64
	}{
		{"starts", "Processes that got programs.", c.Starts},
		{"resident_hits", "Requests answered by a resident program.", c.ResidentHits},
		{"memory_hits", "Requests answered by a binary in memory.", c.MemoryHits},
		{"disk_hits", "Requests answered from disk.", c.DiskHits},
		{"compiles", "Programs compiled.", c.Compiles},
		{"store_only_compiles", "Of the programs compiled, those for the store alone.", c.StoreOnly},
		{"compile_errors", "Sources that failed to compile.", c.CompileErrors},
		{"rejected", "Binaries that the driver refused.", c.Rejected},
		{"damaged", "Binaries that a checksum refused.", c.Damaged},
		{"wrong_answers", "Binaries that failed their check.", c.WrongAnswers},
		{"trials", "Suspects that were tried in a child process.", c.Trials},
		{"quarantines", "Programs that crashed or hung the driver.", c.Quarantined},
		{"refusals", "Requests for programs in quarantine.", c.Refusals},
		{"evictions", "Programs evicted from memory.", c.Evictions},
		{"out_of_memory", "Times that the driver was out of memory.", c.OutOfMemory},
		{"low_memory", "Times that programs were evicted since the GPU's memory was low.", c.LowMemory},
		{"stored", "Binaries written.", c.Stored},
		{"store_failures", "Reads and writes that failed.", c.StoreFailures},
		{"machine_code_misses", "Programs that were loaded and whose machine code was made again.", c.MachineCodeMisses},
	} {
		m.Add(counter.name+"_total", "counter", counter.help, float64(counter.value))
	}
	m.Add("compile_seconds_total", "counter", "Time spent compiling.", float64(c.CompileNanos)/1e9)
	m.Add("load_seconds_total", "counter", "Time spent loading.", float64(c.LoadNanos)/1e9)
	m.Add("saved_seconds_total", "counter", "Compile time saved.", float64(max(c.SavedNanos, 0))/1e9)
	addLevels(&m, r.Levels)
	_, err := m.WriteTo(w)
	return err
}
