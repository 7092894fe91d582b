package main

import (
	"io"

	"github.com/shadercache/shadercache/cmd/cli"
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
