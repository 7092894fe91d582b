package http_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/fleet"
)

// listen serves each connection of an address by a function.
func listen(t *testing.T, serve func(c net.Conn, r *bufio.Reader)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c, bufio.NewReader(c))
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String()}
}

// A server closes idle connections, sometimes when a request is on its way.
func TestPutSurvivesAClosedIdleConnection(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	b := open(t, listen(t, func(c net.Conn, reader *bufio.Reader) {
		connections.Add(1)
		for n := range 2 {
			r, err := http.ReadRequest(reader)
			if err != nil {
				return
			}
			io.Copy(io.Discard, r.Body)
			if n == 0 {
				io.WriteString(c, "HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
			}
		}
	}), nil)
	for range 3 {
		if err := put(t, b); err != nil {
			t.Error(err)
		}
	}
	if connections.Load() < 2 {
		t.Errorf("%d connections", connections.Load())
	}
}

// A refusal comes before a large body is sent, since a server that refuses may also reset.
func TestRefusedPackIsNotSent(t *testing.T) {
	t.Parallel()
	sent := make(chan int64, 1)
	b := open(t, listen(t, func(c net.Conn, reader *bufio.Reader) {
		r, err := http.ReadRequest(reader)
		if err != nil {
			return
		}
		if r.Header.Get("Expect") != "100-continue" {
			t.Error("the pack is sent without asking")
		}
		io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		n, _ := io.Copy(io.Discard, reader)
		sent <- n
	}), nil)
	pack := make([]byte, 1<<20)
	_, err := b.Put(t.Context(), object, bytes.NewReader(pack), fleet.PutOptions{Size: int64(len(pack))})
	if !errors.Is(err, fleet.ErrDenied) {
		t.Errorf("%v, not ErrDenied", err)
	}
	b.Close()
	if n := <-sent; n != 0 {
		t.Errorf("%d bytes of the pack were sent", n)
	}
}

// A cache in between, such as a proxy of a site, may answer with an old object for days. A
// writer would not see its own head, and a node not that a key was revoked.
func TestCachesAskTheServer(t *testing.T) {
	t.Parallel()
	stored, cached := "an old head", "an old head"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			data, _ := io.ReadAll(r.Body)
			stored = string(data)
		} else if r.Header.Get("Cache-Control") == "no-cache" {
			cached = stored
		}
		io.WriteString(w, cached)
	}))
	defer s.Close()
	u, _ := url.Parse(s.URL)
	b := open(t, u, nil)
	if err := put(t, b); err != nil {
		t.Fatal(err)
	}
	if got, err := get(t.Context(), b); err != nil || string(got) != stored {
		t.Errorf("%q, %v, should be %q", got, err, stored)
	}
}
