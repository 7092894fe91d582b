package main

import (
	"io"

	"github.com/shadercache/shadercache/cmd/cli"
)

// writePrometheus writes the figures in Prometheus's text format. Counters are those of
// all drivers since the directory was made.
func (r *statsResult) writePrometheus(w io.Writer) error {
	m := cli.Metrics{Prefix: "shadercache_"}
	ofDrivers := func(name, help string, value func(fingerprintLine) int64) {
		m.Begin(name, "gauge", help)
		for _, f := range r.Fingerprints {
			m.Sample(name, float64(value(f)), "driver", f.Label, "fingerprint", f.Digest.Short())
		}
	}
	ofDrivers("programs", "Programs on disk.", func(f fingerprintLine) int64 { return int64(f.Programs) })
	ofDrivers("program_bytes", "Size of the programs on disk.", func(f fingerprintLine) int64 { return f.BlobBytes })
	ofDrivers("source_only", "1 where the driver's program binaries are not used.", func(f fingerprintLine) int64 { return int64(min(1, len(f.SourceOnly))) })
	m.Add("driver_cache_bytes", "gauge", "Size of the driver's own cache.", float64(r.DriverCacheBytes))
	m.Add("quarantined_programs", "gauge", "Programs in quarantine.", float64(len(r.Quarantined)))
	m.Add("suspect_programs", "gauge", "Programs to be tried: a process ended while the driver had them.", float64(len(r.Suspects)))
	r.counters.EachMetric(func(name, help string, value float64) { m.Add(name, "counter", help, value) })
	addLevels(&m, r.Levels)
	if len(r.Seen) > 0 {
		m.Begin("remote_head", "gauge", "Number of the latest signed head that was seen; digest tells heads of one number apart.")
	}
	for _, s := range r.Seen {
		m.Sample("remote_head", float64(s.Sequence), "remote", s.Remote, "fingerprint", s.Driver.Short(), "digest", s.Head.Short())
	}
	_, err := m.WriteTo(w)
	return err
}
