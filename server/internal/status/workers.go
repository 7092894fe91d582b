//go:build linux

package status

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"sync"
	"time"

	"github.com/shadercache/shadercache/server"
)

// Dial returns a connection with the pages of a worker.
type Dial func(context.Context) (net.Conn, error)

// Workers are the workers of several devices, which serve their own pages.
type Workers struct{ transports []*http.Transport }

const (
	workerTime = 2 * time.Second  // after which a worker that does not answer counts as one that does not serve
	pageIdle   = 10 * time.Second // after which a connection that no page uses is closed
)

// OfWorkers returns the source of several workers: dial has one for each device.
func OfWorkers(dial ...Dial) *Workers {
	w := &Workers{}
	for _, each := range dial {
		w.transports = append(w.transports, &http.Transport{
			DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return each(ctx) },
			IdleConnTimeout: pageIdle,
		})
	}
	return w
}

// Status asks all workers. One that does not answer has a status with its error alone.
func (w *Workers) Status() Report {
	r := Report{make([]server.Status, len(w.transports))}
	ctx, cancel := context.WithTimeout(context.Background(), workerTime)
	defer cancel()
	var all sync.WaitGroup
	for number := range w.transports {
		all.Go(func() {
			s, err := w.ask(ctx, number)
			if err != nil {
				s = server.Status{Device: number, Devices: len(w.transports), Error: err.Error(), Sessions: []server.SessionStatus{}, Failures: []server.FailedRequest{}}
			}
			r.Devices[number] = s
		})
	}
	all.Wait()
	return r
}

// ask returns the status that a worker serves.
func (w *Workers) ask(ctx context.Context, number int) (s server.Status, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://worker/status", nil)
	if err != nil {
		return s, err
	}
	reply, err := w.transports[number].RoundTrip(request)
	if err != nil {
		return s, err
	}
	defer reply.Body.Close()
	var r Report
	if err := json.NewDecoder(reply.Body).Decode(&r); err != nil {
		return s, err
	}
	if len(r.Devices) != 1 {
		return s, fmt.Errorf("the worker reports %d devices", len(r.Devices))
	}
	return r.Devices[0], nil
}

// ServeHTTP passes /device/N/... on to a worker.
func (w *Workers) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	text := r.PathValue("number")
	number, err := strconv.Atoi(text)
	if err != nil || number < 0 || number >= len(w.transports) {
		http.NotFound(out, r)
		return
	}
	pass := &httputil.ReverseProxy{
		Transport: w.transports[number],
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "worker", "" },
		ErrorHandler: func(out http.ResponseWriter, _ *http.Request, err error) {
			http.Error(out, err.Error(), http.StatusBadGateway)
		},
	}
	http.StripPrefix("/device/"+text, pass).ServeHTTP(out, r)
}
