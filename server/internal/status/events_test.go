//go:build linux

package status

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server"
)

// working is a source whose number of jobs grows with each status.
type working struct {
	n       atomic.Uint64
	clients int
}

func (c *working) Status() server.Status {
	s := server.Status{GPU: "a GPU", Sessions: make([]server.SessionStatus, c.clients)}
	s.Counters.Jobs = c.n.Add(1)
	return s
}

// listen opens a page's events and returns a function that reads the next one.
func listen(t *testing.T, ctx context.Context, url string) (*http.Response, func() (server.Status, error)) {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reply.Body.Close() })
	lines := bufio.NewReader(reply.Body)
	return reply, func() (s server.Status, err error) {
		data, err := lines.ReadString('\n')
		if err != nil {
			return s, err
		}
		if end, err := lines.ReadString('\n'); err != nil || end != "\n" || !strings.HasPrefix(data, "data: ") {
			t.Fatalf("%q, %q, %v: not an event", data, end, err)
		}
		var r Report
		if err := json.Unmarshal([]byte(data[len("data: "):]), &r); err != nil {
			return s, err
		}
		return r.Devices[0], nil
	}
}

// TestEventsFollowTheServer reads events: each has the status of its time. Those who listen
// are limited in number, and one that leaves makes room.
func TestEventsFollowTheServer(t *testing.T) {
	e := newEvents(Of(&working{}))
	e.every = time.Millisecond
	taken := make(places, maxListeners)
	pages := httptest.NewServer(taken.limit(e.ServeHTTP))
	defer func() { pages.CloseClientConnections(); pages.Close() }()
	ctx, leave := context.WithCancel(t.Context())
	reply, next := listen(t, ctx, pages.URL)
	if kind := reply.Header.Get("Content-Type"); reply.StatusCode != 200 || kind != "text/event-stream" {
		t.Fatalf("%d, %s", reply.StatusCode, kind)
	}
	last := uint64(0)
	for range 3 {
		s, err := next()
		if err != nil || s.Counters.Jobs <= last || s.GPU != "a GPU" {
			t.Fatalf("after %d jobs: %v, %+v", last, err, s)
		}
		last = s.Counters.Jobs
	}
	for range maxListeners - 1 {
		if reply, _ := listen(t, t.Context(), pages.URL); reply.StatusCode != 200 {
			t.Fatal(reply.StatusCode)
		}
	}
	reply, _ = listen(t, t.Context(), pages.URL)
	if reply.StatusCode != http.StatusServiceUnavailable || reply.Header.Get("Retry-After") == "" {
		t.Errorf("one page too many: %d", reply.StatusCode)
	}
	leave()
	for start := time.Now(); len(taken) == maxListeners; time.Sleep(time.Millisecond) {
		if time.Since(start) > 10*time.Second {
			t.Fatal("a page that left keeps its place")
		}
	}
	if reply, _ := listen(t, t.Context(), pages.URL); reply.StatusCode != 200 {
		t.Errorf("after one has left: %d", reply.StatusCode)
	}
}

// TestAPageThatDoesNotRead keeps a connection open and reads nothing: its place is free after
// the limit.
func TestAPageThatDoesNotRead(t *testing.T) {
	e := newEvents(Of(&working{clients: 20_000})) // of megabytes: more than the kernel buffers
	e.every, e.limit = time.Millisecond, 50*time.Millisecond
	place := make(places, 1)
	pages := httptest.NewServer(place.limit(e.ServeHTTP))
	defer func() { pages.CloseClientConnections(); pages.Close() }()
	c, err := net.Dial("tcp", pages.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	taken := false
	for start := time.Now(); !taken || len(place) > 0; time.Sleep(time.Millisecond) {
		taken = taken || len(place) > 0
		if time.Since(start) > 10*time.Second {
			t.Fatal("the place is not free")
		}
	}
}

// TestThePageNeedsNothingElse looks at the page: its elements, and that it may load nothing
// and run no other script.
func TestThePageNeedsNothingElse(t *testing.T) {
	recorded := httptest.NewRecorder()
	handler(Of(&working{})).ServeHTTP(recorded, httptest.NewRequest("GET", "/", nil))
	html, policy := recorded.Body.String(), recorded.Header().Get("Content-Security-Policy")
	if recorded.Code != 200 || recorded.Header().Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%d %v", recorded.Code, recorded.Header())
	}
	for _, id := range []string{"clients", "jobs-per-second", "queue", "gpu-time", "memory", "hits", "errors", "pause", "state"} {
		if strings.Count(html, ` id="`+id+`"`) != 1 {
			t.Errorf("there is not one element %q", id)
		}
	}
	for _, other := range []string{"http://", "https://", "src=", "@import", "url("} {
		if strings.Contains(html, other) {
			t.Errorf("the page has %q", other)
		}
	}
	for _, want := range []string{"default-src 'none'", "script-src 'sha256-", "style-src 'sha256-", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy %q lacks %q", policy, want)
		}
	}
	if !strings.Contains(html, ":root { color-scheme: light dark") || strings.Contains(html, "{{") {
		t.Error("the style sheet is missing")
	}
}

// named is a source with a name that has line ends.
type named struct{}

func (named) Status() server.Status {
	return server.Status{GPU: "a GPU", Sessions: []server.SessionStatus{{Client: "a\n\ndata: {\"devices\":[]}\r\n\n"}}}
}

// TestAnEventIsOneLine whatever the names of clients have.
func TestAnEventIsOneLine(t *testing.T) {
	e := newEvents(Of(named{}))
	e.every = time.Millisecond
	taken := make(places, maxListeners)
	pages := httptest.NewServer(taken.limit(e.ServeHTTP))
	defer func() { pages.CloseClientConnections(); pages.Close() }()
	_, next := listen(t, t.Context(), pages.URL)
	for range 3 {
		if s, err := next(); err != nil || len(s.Sessions) != 1 || s.Sessions[0].Client != (named{}).Status().Sessions[0].Client {
			t.Fatal(s, err)
		}
	}
}
