package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// Transport is a transport whose first connection may be made before its first request. A
// request would do so too, but the next one would wait for its answer: a round trip.
type Transport struct {
	*http.Transport
	dialer net.Dialer

	mu    sync.Mutex
	early *earlyConn // not used yet; nil: none
}

// earlyConn is a connection that Connect makes.
type earlyConn struct {
	scheme, address string

	done chan struct{} // closed when conn and err are set
	conn net.Conn
	err  error
	made time.Time
}

// earlyTime is the age from which an early connection is not used: the server may have
// closed it.
const earlyTime = 3 * time.Second

// Connect makes a connection to the host of a URL, with TLS where its scheme says so. The
// next request uses it, and waits for it where it is not there yet. Behind a proxy it does
// nothing.
func (t *Transport) Connect(ctx context.Context, u *url.URL) error {
	proxy, err := t.Proxy(&http.Request{URL: u})
	if proxy != nil || err != nil {
		return err
	}
	address := net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), defaultPorts[u.Scheme]))
	e := &earlyConn{scheme: u.Scheme, address: address, done: make(chan struct{})}
	t.mu.Lock()
	before := t.early
	t.early = e
	t.mu.Unlock()
	go before.close()
	if e.scheme == "https" {
		e.conn, e.err = t.dialTLS(ctx, "tcp", address)
	} else {
		e.conn, e.err = t.dialer.DialContext(ctx, "tcp", address)
	}
	e.made = time.Now()
	close(e.done)
	return e.err
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// dialerOf returns a function that dials for a scheme: it takes the early connection where
// there is one, else makes one by dial.
func (t *Transport) dialerOf(scheme string, dial func(ctx context.Context, network, address string) (net.Conn, error)) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if conn := t.takeEarly(ctx, scheme, address); conn != nil {
			return conn, nil
		}
		return dial(ctx, network, address)
	}
}

// takeEarly waits for an early connection to an address, and returns it; nil where there is
// none that works.
func (t *Transport) takeEarly(ctx context.Context, scheme, address string) net.Conn {
	t.mu.Lock()
	e := t.early
	if e == nil || e.scheme != scheme || e.address != address {
		t.mu.Unlock()
		return nil
	}
	t.early = nil
	t.mu.Unlock()
	select {
	case <-e.done:
	case <-ctx.Done():
		go e.close()
		return nil
	}
	if e.err != nil || time.Since(e.made) > earlyTime {
		e.close()
		return nil
	}
	return e.conn
}

// close closes a connection that is not used, when it was made. A nil one is none.
func (e *earlyConn) close() {
	if e == nil {
		return
	}
	<-e.done
	if e.conn != nil {
		_ = e.conn.Close()
	}
}

// dialTLS makes a connection with TLS, for HTTP/2 where the server has it.
func (t *Transport) dialTLS(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := t.dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	settings := t.TLSClientConfig.Clone()
	settings.ServerName, _, _ = net.SplitHostPort(address)
	secured := tls.Client(conn, settings)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return secured, nil
}

// CloseIdleConnections closes the connections that no request uses.
func (t *Transport) CloseIdleConnections() {
	t.mu.Lock()
	e := t.early
	t.early = nil
	t.mu.Unlock()
	if e != nil {
		go e.close() // Connect may not have returned
	}
	t.Transport.CloseIdleConnections()
}
