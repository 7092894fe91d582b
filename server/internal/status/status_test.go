//go:build linux

package status_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/status"
)

// source is a server whose status is set.
type source struct{ status atomic.Pointer[server.Status] }

func (s *source) Status() server.Status { return *s.status.Load() }

// serve serves a status and returns a function that gets a page.
func serve(t *testing.T, of server.Status) (*source, func(method, path string) (code int, body string)) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &source{}
	s.status.Store(&of)
	pages := status.Serve(l, "gpu3.example:9090", status.Of(s))
	t.Cleanup(func() { pages.Close() })
	return s, func(method, path string) (int, string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, fmt.Sprintf("http://%s%s", l.Addr(), path), nil)
		if err != nil {
			t.Fatal(err)
		}
		reply, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer reply.Body.Close()
		body, err := io.ReadAll(reply.Body)
		if err != nil {
			t.Fatal(err)
		}
		return reply.StatusCode, string(body)
	}
}

// sample has another value in each field that a metric shows.
func sample() server.Status {
	s := server.Status{
		Version: "v1", Generation: 2, Ended: "the context is lost", GPU: "a GPU", ZeroCopy: true,
		NamedBuffers: 3, NamedPlans: 4, NamedBytes: 5,
		Sessions: []server.SessionStatus{{ID: 1, Client: "a", Unanswered: 6, Bytes: 7}, {ID: 2, Client: "b", Unanswered: 8, Bytes: 9}},
	}
	s.Cache.Resident = 11
	n := reflect.ValueOf(&s.Counters).Elem()
	for i := range n.NumField() {
		n.Field(i).SetUint(uint64(100 + i))
	}
	return s
}

func TestHealth(t *testing.T) {
	s, get := serve(t, sample())
	if code, body := get("GET", "/healthz"); code != 200 || body != "ok\n" {
		t.Errorf("%d %q", code, body)
	}
	draining := sample()
	draining.Draining = true
	s.status.Store(&draining)
	if code, body := get("GET", "/healthz"); code != 503 || !strings.Contains(body, "shuts down") {
		t.Errorf("while it drains: %d %q", code, body)
	}
}

// TestHosts asks for pages by names: one that is not the server's, as of a page that has its
// name lead here, reads nothing.
func TestHosts(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &source{}
	of := sample()
	s.status.Store(&of)
	pages := status.Serve(l, "gpu3.example:9090", status.Of(s))
	defer pages.Close()
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:9090": 200, "127.0.0.1": 200, "127.0.0.1:80": 200, "[::1]:80": 200, "[::1]": 200, "10.1.2.3:9090": 200,
		"gpu3.example": 200, "GPU3.example:1": 200,
		"evil.example": 403, "evil.example:9090": 403, "localhost.evil.example": 403, "127.0.0.1.evil.example": 403, "127.1": 403, "evil:80:80": 403,
	} {
		for _, page := range []string{"/", "/status", "/debug/pprof/cmdline"} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+page, nil)
			if err != nil {
				t.Fatal(err)
			}
			request.Host = host
			reply, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(host, err)
			}
			body, _ := io.ReadAll(reply.Body)
			reply.Body.Close()
			if reply.StatusCode != want || want == 403 && !strings.Contains(string(body), "IP address") {
				t.Errorf("%s of %s: %d %.80q", page, host, reply.StatusCode, body)
			}
		}
	}
}

func TestStatusPage(t *testing.T) {
	_, get := serve(t, sample())
	code, body := get("GET", "/status")
	var got status.Report
	if err := json.Unmarshal([]byte(body), &got); err != nil || code != 200 || !reflect.DeepEqual(got.Devices, []server.Status{sample()}) {
		t.Errorf("%d, %v\n%s", code, err, body)
	}
}

// TestMetrics expects every counter of the server under its name, and the values of the
// others.
func TestMetrics(t *testing.T) {
	_, get := serve(t, sample())
	code, body := get("GET", "/metrics")
	if code != 200 {
		t.Fatal(code)
	}
	want := map[string]int{
		"sessions": 2, "unanswered_requests": 14, "session_bytes": 16, "named_buffers": 3, "named_plans": 4, "named_bytes": 5,
		"generation": 2, "resident_programs": 11,
	}
	n := reflect.ValueOf(sample().Counters)
	for i := range n.NumField() {
		name, _, _ := strings.Cut(n.Type().Field(i).Tag.Get("json"), ",")
		switch name {
		case "busy_ns": // in seconds, as Prometheus has it
			if line := fmt.Sprintf("\nshadercache_server_busy_seconds_total{device=\"0\"} %v\n", float64(n.Field(i).Uint())/1e9); !strings.Contains(body, line) {
				t.Errorf("there is no line %q", line)
			}
			continue
		case "failed":
			name = "failed_requests"
		}
		want[name+"_total"] = int(n.Field(i).Uint())
	}
	for name, value := range want {
		if line := fmt.Sprintf("\nshadercache_server_%s{device=\"0\"} %d\n", name, value); !strings.Contains(body, line) {
			t.Errorf("there is no line %q", line)
		}
	}
	if !strings.Contains(body, "\ngo_goroutines ") || !strings.Contains(body, "\nprocess_open_fds ") {
		t.Error("the metrics of Go and of the process are missing")
	}
}

func TestProfilesAndOtherPages(t *testing.T) {
	_, get := serve(t, sample())
	for path, want := range map[string]int{
		"GET /debug/pprof/": 200, "GET /debug/pprof/goroutine?debug=1": 200, "GET /debug/pprof/cmdline": 200,
		"GET /debug/pprof/trace?seconds=1": 404, // one that is not read takes memory without end
		"GET /":                            200, "POST /": 405, "GET /other": 404, "POST /status": 405, "POST /metrics": 405,
	} {
		method, page, _ := strings.Cut(path, " ")
		if code, _ := get(method, page); code != want {
			t.Errorf("%s: %d, not %d", path, code, want)
		}
	}
}

// TestConnectionsAreBounded makes connections without end, and keeps them: those beyond some are
// closed, and there is room again when others end.
func TestConnectionsAreBounded(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &source{}
	s.status.Store(&server.Status{})
	pages := status.Serve(l, "", status.Of(s))
	defer pages.Close()
	answered := func() (net.Conn, bool) {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
		n, _ := c.Read(make([]byte, 16))
		return c, n > 0
	}
	var kept []net.Conn
	for len(kept) < 1000 {
		c, ok := answered()
		if !ok {
			c.Close()
			break
		}
		kept = append(kept, c)
	}
	if n := len(kept); n == 0 || n == 1000 {
		t.Errorf("%d connections at a time", n)
	}
	for _, c := range kept {
		c.Close()
	}
	for start := time.Now(); ; {
		c, ok := answered()
		c.Close()
		if ok {
			return
		}
		if time.Since(start) > 30*time.Second {
			t.Fatal("no connection is answered after those before have ended")
		}
	}
}
