//go:build linux

// Package status serves the state of a server over HTTP: for people, for monitoring, and
// for the profiles of Go. It is a package of its own so that programs without it do not
// link HTTP.
//
//	/              a page for people, which the events keep up to date
//	/events        Report as JSON, once a second, as server-sent events
//	/healthz       200 while the server accepts clients, else 503
//	/status        Report as JSON
//	/metrics       for Prometheus
//	/debug/pprof/  profiles of the process that serves the pages
//	/device/N/     all of these of the worker of device N, where that is another process
package status

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/pprof"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/shadercache/shadercache/server"
)

// Report is the state of a server: of the workers of all its devices, in their order.
type Report struct {
	Devices []server.Status `json:"devices"`
}

// accepts reports whether clients are accepted: by one worker at least.
func (r Report) accepts() bool {
	return slices.ContainsFunc(r.Devices, func(s server.Status) bool { return s.Error == "" && !s.Draining })
}

// Source has the state that is served: [Of] one worker, or [OfWorkers].
type Source interface{ Status() Report }

// Of returns the source of a worker's own state. *server.Server is one.
func Of(worker interface{ Status() server.Status }) Source { return own{worker} }

type own struct {
	worker interface{ Status() server.Status }
}

func (o own) Status() Report { return Report{[]server.Status{o.worker.Status()}} }

// maxConnections is the number of connections at a time: any user of the machine may make them,
// and clients of the server need descriptors too.
const maxConnections = 64

// Serve serves the pages on l until the caller closes the result. listened is the address that
// the user gave: only requests for its host, localhost or an IP address are answered.
func Serve(l net.Listener, listened string, source Source) *http.Server {
	var open atomic.Int64
	s := &http.Server{Handler: checked(handler(source), listened), ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 30 * time.Second}
	s.ConnState = func(c net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if open.Add(1) > maxConnections {
				_ = c.Close()
			}
		case http.StateClosed, http.StateHijacked:
			open.Add(-1)
		}
	}
	go func() { _ = s.Serve(l) }() // it ends with Close
	return s
}

func handler(source Source) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", livePage())
	mux.Handle("GET /events", make(places, maxListeners).limit(newEvents(source).ServeHTTP))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !source.Status().accepts() {
			http.Error(w, "the server shuts down, or none of its devices serves", http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		out := json.NewEncoder(w)
		out.SetIndent("", "  ")
		_ = out.Encode(source.Status())
	})
	metrics := prometheus.NewPedanticRegistry()
	metrics.MustRegister(&collector{source}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux.Handle("GET /metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	if workers, ok := source.(*Workers); ok {
		mux.Handle("GET /device/{number}/", workers)
	}
	profiles := make(places, maxListeners)
	mux.HandleFunc("GET /debug/pprof/", profiles.limit(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", profiles.limit(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	return mux
}
