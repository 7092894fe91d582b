package web

import (
	"context"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// counted is a server that counts its connections.
type counted struct {
	*httptest.Server
	url          *url.URL
	made, closed atomic.Int64
	requests     atomic.Int64
	ca           string // file with the server's certificate
}

func newCounted(t *testing.T, scheme string) *counted {
	t.Helper()
	c := &counted{}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.requests.Add(1)
		fmt.Fprint(w, r.Proto)
	}))
	c.EnableHTTP2 = true
	c.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		switch s {
		case http.StateNew:
			c.made.Add(1)
		case http.StateClosed:
			c.closed.Add(1)
		}
	}
	if scheme == "https" {
		c.StartTLS()
		c.ca = filepath.Join(t.TempDir(), "ca.pem")
		data := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})
		if err := os.WriteFile(c.ca, data, 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		c.Start()
	}
	t.Cleanup(c.Close)
	var err error
	if c.url, err = url.Parse(c.URL); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *counted) transport(t *testing.T) *Transport {
	t.Helper()
	transport, err := NewTransport(func(name string) string {
		if name == "SHADERCACHE_REMOTE_CA" {
			return c.ca
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// get sends a request and returns the protocol of its answer.
func get(t *testing.T, transport *Transport, u *url.URL) string {
	t.Helper()
	client := http.Client{Transport: transport}
	response, err := client.Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.Proto
}

func TestEarlyConnection(t *testing.T) {
	for scheme, protocol := range map[string]string{"http": "HTTP/1.1", "https": "HTTP/2.0"} {
		t.Run(scheme, func(t *testing.T) {
			server := newCounted(t, scheme)
			transport := server.transport(t)
			if err := transport.Connect(t.Context(), server.url); err != nil {
				t.Fatal(err)
			}
			if got := get(t, transport, server.url); got != protocol {
				t.Errorf("%s, should be %s", got, protocol)
			}
			if made, asked := server.made.Load(), server.requests.Load(); made != 1 || asked != 1 {
				t.Errorf("%d connections and %d requests, should be one each", made, asked)
			}
		})
	}
}

// A request waits for a connection that is being made, and does not make another.
func TestEarlyConnectionIsWaitedFor(t *testing.T) {
	server := newCounted(t, "http")
	transport := server.transport(t)
	release := make(chan struct{})
	transport.early = &earlyConn{scheme: "http", address: server.url.Host, done: make(chan struct{})}
	e := transport.early
	ended, end := context.WithCancel(t.Context())
	end() // a call that would take it does not wait
	for scheme, address := range map[string]string{"https": e.address, "http": "host:80"} {
		if transport.takeEarly(ended, scheme, address) != nil || transport.early != e {
			t.Errorf("%s to %s took it", scheme, address)
		}
	}
	go func() {
		<-release
		e.conn, e.err = net.Dial("tcp", e.address)
		e.made = time.Now()
		close(e.done)
	}()
	answered := make(chan struct{})
	go func() {
		get(t, transport, server.url)
		close(answered)
	}()
	select {
	case <-answered:
		t.Error("the request did not wait")
	case <-time.After(20 * time.Millisecond):
	}
	close(release)
	<-answered
	if made := server.made.Load(); made != 1 {
		t.Errorf("%d connections", made)
	}
}

// One that failed, or is too old, is replaced by another. One that nothing uses is closed.
func TestEarlyConnectionThatIsNotUsed(t *testing.T) {
	server := newCounted(t, "http")
	transport := server.transport(t)
	old := &earlyConn{scheme: "http", address: server.url.Host, done: make(chan struct{}), made: time.Now().Add(-time.Minute)}
	var err error
	if old.conn, err = net.Dial("tcp", old.address); err != nil {
		t.Fatal(err)
	}
	close(old.done)
	failed := &earlyConn{scheme: "http", address: server.url.Host, done: make(chan struct{}), err: os.ErrDeadlineExceeded}
	close(failed.done)
	for _, e := range []*earlyConn{old, failed} {
		transport.early = e
		get(t, transport, server.url)
		transport.Transport.CloseIdleConnections()
	}
	if err := transport.Connect(t.Context(), server.url); err != nil {
		t.Fatal(err)
	}
	transport.CloseIdleConnections()
	for deadline := time.Now().Add(5 * time.Second); server.closed.Load() < 4 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	if made, closed := server.made.Load(), server.closed.Load(); made != 4 || closed != 4 {
		t.Errorf("%d connections, %d closed, should be 4", made, closed)
	}
}
