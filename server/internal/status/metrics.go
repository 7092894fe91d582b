//go:build linux

package status

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/shadercache/shadercache/server"
)

// metric is one value of a worker's status, with the number of its device as a label.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(*server.Status) float64
}

func newMetric(name, help string, kind prometheus.ValueType, value func(*server.Status) float64) metric {
	return metric{prometheus.NewDesc("shadercache_server_"+name, help, []string{"device"}, nil), kind, value}
}

func counter(name, help string, value func(*server.Status) uint64) metric {
	return newMetric(name+"_total", help, prometheus.CounterValue, func(s *server.Status) float64 { return float64(value(s)) })
}

func gauge(name, help string, value func(*server.Status) float64) metric {
	return newMetric(name, help, prometheus.GaugeValue, value)
}

// serving is there for each device, the others for those that serve.
var serving = gauge("device_serves", "Whether the device has a worker that serves.", func(s *server.Status) float64 {
	if s.Error != "" {
		return 0
	}
	return 1
})

var metrics = []metric{
	gauge("sessions", "Connected clients.", func(s *server.Status) float64 { return float64(len(s.Sessions)) }),
	gauge("unanswered_requests", "Requests that are not answered yet.", func(s *server.Status) (n float64) {
		for _, each := range s.Sessions {
			n += float64(each.Unanswered)
		}
		return n
	}),
	gauge("session_bytes", "Bytes of shared memory, buffers and plans that sessions have.", func(s *server.Status) (n float64) {
		for _, each := range s.Sessions {
			n += float64(each.Bytes)
		}
		return n
	}),
	gauge("named_buffers", "Named buffers.", func(s *server.Status) float64 { return float64(s.NamedBuffers) }),
	gauge("named_plans", "Named plans.", func(s *server.Status) float64 { return float64(s.NamedPlans) }),
	gauge("named_bytes", "Bytes of named buffers and plans.", func(s *server.Status) float64 { return float64(s.NamedBytes) }),
	gauge("generation", "Number of the worker process: 1, and 1 more after each restart.", func(s *server.Status) float64 { return float64(s.Generation) }),
	gauge("resident_programs", "Programs that are resident.", func(s *server.Status) float64 { return float64(s.Cache.Resident) }),
	newMetric("busy_seconds_total", "Time in which the GPU had jobs.", prometheus.CounterValue, func(s *server.Status) float64 {
		return float64(s.Counters.BusyNanos) / 1e9
	}),
	counter("sessions", "Sessions since the worker started.", func(s *server.Status) uint64 { return s.Counters.Sessions }),
	counter("refused", "Connections that were refused.", func(s *server.Status) uint64 { return s.Counters.Refused }),
	counter("requests", "Requests.", func(s *server.Status) uint64 { return s.Counters.Requests }),
	counter("jobs", "Jobs that the GPU got.", func(s *server.Status) uint64 { return s.Counters.Jobs }),
	counter("failed_requests", "Requests that were answered with an error.", func(s *server.Status) uint64 { return s.Counters.Failed }),
	counter("deadlines", "Requests whose deadline passed.", func(s *server.Status) uint64 { return s.Counters.Deadlines }),
	counter("weights", "Weights of plans that were uploaded.", func(s *server.Status) uint64 { return s.Counters.Weights }),
	counter("bytes_in", "Bytes of inputs.", func(s *server.Status) uint64 { return s.Counters.BytesIn }),
	counter("bytes_copied", "Bytes of inputs and outputs that were copied: not used in place.", func(s *server.Status) uint64 { return s.Counters.BytesCopied }),
	counter("bytes_out", "Bytes of outputs.", func(s *server.Status) uint64 { return s.Counters.BytesOut }),
}

// collector reads one status for all metrics of a scrape.
type collector struct{ source Source }

func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	descs <- serving.desc
	for _, m := range metrics {
		descs <- m.desc
	}
}

func (c *collector) Collect(values chan<- prometheus.Metric) {
	for _, s := range c.source.Status().Devices {
		device := strconv.Itoa(s.Device)
		values <- prometheus.MustNewConstMetric(serving.desc, serving.kind, serving.value(&s), device)
		if s.Error != "" {
			continue
		}
		for _, m := range metrics {
			values <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&s), device)
		}
	}
}
