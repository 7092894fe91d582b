// Package metrics serves the figures of a cache over HTTP, for Prometheus. It is a package
// of its own so that programs without it do not link HTTP.
//
//	http.Handle("GET /metrics", metrics.Handler(gpu.Cache))
//
// Figures of this process begin with shadercache_process_. Where the cache has a directory,
// those without process_ are the lifetime figures of the directory, of all processes and
// drivers, as "shadercache stats --prometheus" prints them; this process is among them as
// of its last Flush.
package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
)

const (
	lifetimePrefix = "shadercache_"
	processPrefix  = "shadercache_process_"
)

// Handler returns a handler of one page, in the format that the scraper asks for. It may be
// called from any goroutine, also after the cache was closed.
func Handler(c *cache.Cache) http.Handler {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewCollector(c))
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}

// NewCollector returns the figures for a registry that the application has. A scrape takes
// the locks of Cache.Stats, and reads the counters of the directory from disk; it never
// touches the GPU.
func NewCollector(c *cache.Cache) prometheus.Collector { return &collector{c} }

type collector struct{ cache *cache.Cache }

// gauge is a figure of this process that goes up and down.
type gauge struct {
	name, help string
	value      func(cache.Stats) float64
}

var gauges = []gauge{
	{"resident_programs", "Programs that are resident.", func(s cache.Stats) float64 { return float64(s.Resident) }},
	{"resident_bytes", "Size of their binaries.", func(s cache.Stats) float64 { return float64(s.ResidentBytes) }},
	{"programs_in_use", "Resident programs with handles.", func(s cache.Stats) float64 { return float64(s.InUse) }},
	{"kept_bytes", "Binaries of evicted programs in memory.", func(s cache.Stats) float64 { return float64(s.KeptBytes) }},
	{"hit_ratio", "Share of requests that needed no compile, 0 to 1.", func(s cache.Stats) float64 { return s.HitRate() }},
	{"memory_only", "1 where nothing is kept on disk.", func(s cache.Stats) float64 { return truth(s.MemoryOnly != "") }},
	{"source_only", "1 where the driver's program binaries are not used.", func(s cache.Stats) float64 { return truth(s.SourceOnly != "") }},
	{"gpu_free_bytes", "Free memory of the GPU as of the last query, 0 where there was none.", func(s cache.Stats) float64 { return float64(s.GPUMemory.Free) }},
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe sends nothing: a directory that cannot be read leaves its figures out.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the figures of one moment.
func (c *collector) Collect(values chan<- prometheus.Metric) {
	send := func(name, help string, kind prometheus.ValueType, value float64) {
		values <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, nil), kind, value)
	}
	stats := c.cache.Stats()
	for _, g := range gauges {
		send(processPrefix+g.name, g.help, prometheus.GaugeValue, g.value(stats))
	}
	count := func(prefix string, c binary.Counters) {
		c.EachMetric(func(name, help string, value float64) { send(prefix+name, help, prometheus.CounterValue, value) })
	}
	count(processPrefix, stats.Counters)
	store, onDisk := c.cache.Store().(*binary.Store)
	if !onDisk {
		return
	}
	lifetime, err := store.Dir().Lifetime()
	if err != nil {
		return
	}
	count(lifetimePrefix, lifetime)
}
