package servers

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Liar is a server whose answers are any bytes.
type Liar struct {
	Address  string
	requests atomic.Int64
	open     atomic.Int64
}

// StartLiar starts a server that calls answer when it has read a request, and then closes the
// connection. ended is closed when the client has closed it.
func StartLiar(t testing.TB, answer func(c net.Conn, r *http.Request, ended <-chan struct{})) *Liar {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Liar{Address: listener.Addr().String()}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			l.open.Add(1)
			running.Go(func() {
				defer l.open.Add(-1)
				defer c.Close()
				l.serve(c, answer)
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		running.Wait()
	})
	return l
}

func (l *Liar) serve(c net.Conn, answer func(net.Conn, *http.Request, <-chan struct{})) {
	reader := bufio.NewReader(c)
	r, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	l.requests.Add(1)
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buf := make([]byte, 4096)
		for {
			if _, err := reader.Read(buf); err != nil {
				return
			}
		}
	}()
	answer(c, r, ended)
	if half, ok := c.(*net.TCPConn); ok { // what the client sends is read, so that it gets no RST
		half.CloseWrite()
	}
	select {
	case <-ended:
	case <-time.After(time.Second):
		c.Close()
		<-ended
	}
}

// Requests returns how many requests came.
func (l *Liar) Requests() int64 { return l.requests.Load() }

// Open returns how many connections are open.
func (l *Liar) Open() int64 { return l.open.Load() }
