package main

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// writePrometheus writes the figures in Prometheus's text format. Counters are those of
// all drivers since the directory was made.
func (r *statsResult) writePrometheus(w io.Writer) error {
	var b bytes.Buffer
	metric := func(name, kind, help string, value float64) {
		fmt.Fprintf(&b, "# HELP shadercache_%s %s\n# TYPE shadercache_%s %s\nshadercache_%s %s\n",
			name, help, name, kind, name, plainNumber(value))
	}
	r.writeDrivers(&b)
	metric("driver_cache_bytes", "gauge", "Size of the driver's own cache.", float64(r.DriverCacheBytes))
	metric("quarantined_programs", "gauge", "Programs in quarantine.", float64(len(r.Quarantined)))
	c := r.counters
	for _, counter := range []struct {
		name, help string
		value      uint64
	}{
		{"resident_hits", "Requests answered by a resident program.", c.ResidentHits},
		{"memory_hits", "Requests answered by a binary in memory.", c.MemoryHits},
		{"disk_hits", "Requests answered from disk.", c.DiskHits},
		{"compiles", "Programs compiled.", c.Compiles},
		{"compile_errors", "Sources that failed to compile.", c.CompileErrors},
		{"rejected", "Binaries that the driver refused.", c.Rejected},
		{"damaged", "Binaries that a checksum refused.", c.Damaged},
		{"wrong_answers", "Binaries that failed their check.", c.WrongAnswers},
		{"quarantines", "Programs that a process died of.", c.Quarantined},
		{"refusals", "Requests for programs in quarantine.", c.Refusals},
		{"evictions", "Programs evicted from memory.", c.Evictions},
		{"out_of_memory", "Times that the driver was out of memory.", c.OutOfMemory},
		{"stored", "Binaries written.", c.Stored},
		{"store_failures", "Reads and writes that failed.", c.StoreFailures},
	} {
		metric(counter.name+"_total", "counter", counter.help, float64(counter.value))
	}
	metric("compile_seconds_total", "counter", "Time spent compiling.", float64(c.CompileNanos)/1e9)
	metric("load_seconds_total", "counter", "Time spent loading.", float64(c.LoadNanos)/1e9)
	metric("saved_seconds_total", "counter", "Compile time saved.", float64(max(c.SavedNanos, 0))/1e9)
	_, err := w.Write(b.Bytes())
	return err
}

func (r *statsResult) writeDrivers(w io.Writer) {
	fmt.Fprint(w, "# HELP shadercache_programs Programs on disk.\n# TYPE shadercache_programs gauge\n")
	for _, f := range r.Fingerprints {
		fmt.Fprintf(w, "shadercache_programs{driver=%q,fingerprint=%q} %d\n", f.Label, f.Digest.Short(), f.Programs)
	}
	fmt.Fprint(w, "# HELP shadercache_program_bytes Size of the programs on disk.\n# TYPE shadercache_program_bytes gauge\n")
	for _, f := range r.Fingerprints {
		fmt.Fprintf(w, "shadercache_program_bytes{driver=%q,fingerprint=%q} %d\n", f.Label, f.Digest.Short(), f.BlobBytes)
	}
}

// plainNumber formats a number without an exponent.
func plainNumber(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }
