//go:build linux

package status

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/server"
)

// device is a worker's state with the number of its device.
type device int

func (d device) Status() server.Status {
	return server.Status{Device: int(d), Devices: 3, GPU: "a GPU", Counters: server.Counters{Jobs: uint64(10 + d)}}
}

// TestPagesOfSeveralWorkers has two workers with their own pages, and a device without one.
func TestPagesOfSeveralWorkers(t *testing.T) {
	var dial []Dial
	for number := range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		pages := Serve(l, "worker", Of(device(number)))
		t.Cleanup(func() { pages.Close() })
		dial = append(dial, func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		})
	}
	gone := func(context.Context) (net.Conn, error) { return nil, errors.New("the worker is gone") }
	all := OfWorkers(append(dial, gone)...)
	r := all.Status()
	for number, d := range r.Devices {
		serves := number < 2
		if d.Device != number || (d.Error == "") != serves || serves && d.Counters.Jobs != uint64(10+number) || d.Devices != 3 {
			t.Errorf("device %d: %+v", number, d)
		}
	}
	if !strings.Contains(r.Devices[2].Error, "the worker is gone") {
		t.Errorf("%q does not say why", r.Devices[2].Error)
	}
	for path, want := range map[string]string{
		"/metrics":          "shadercache_server_jobs_total{device=\"1\"} 11\n",
		"/device/1/metrics": "shadercache_server_jobs_total{device=\"1\"} 11\n",
		"/device/0/healthz": "ok\n", "/healthz": "ok\n", "/device/0/debug/pprof/": "goroutine",
	} {
		if code, body := getFrom(all, path); code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, no %q in %q", path, code, want, body)
		}
	}
	if _, body := getFrom(all, "/metrics"); !strings.Contains(body, "serves{device=\"2\"} 0\n") || strings.Contains(body, "jobs_total{device=\"2\"}") {
		t.Errorf("metrics of a device that does not serve: %s", body)
	}
	for path, want := range map[string]int{"/device/3/status": 404, "/device/-1/status": 404, "/device/a/status": 404, "/device/2/status": 502} {
		if code, _ := getFrom(all, path); code != want {
			t.Errorf("%s: %d, not %d", path, code, want)
		}
	}
	if _, body := getFrom(all, "/device/2/status"); !strings.Contains(body, "the worker is gone") {
		t.Errorf("%q does not say why", body)
	}
	if code, _ := getFrom(OfWorkers(gone, gone), "/healthz"); code != http.StatusServiceUnavailable {
		t.Errorf("without any worker: %d", code)
	}
}

func getFrom(source Source, path string) (code int, body string) {
	w := httptest.NewRecorder()
	handler(source).ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	return w.Code, w.Body.String()
}
