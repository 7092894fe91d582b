package servers

import (
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// Cut is how a proxy ends an answer.
type Cut int

// The cuts.
const (
	Reset Cut = iota + 1 // RST
	End                  // FIN
	Stall                // nothing more comes
)

// Faults are those of a network, in the direction of the client.
type Faults struct {
	Latency        time.Duration // of each write
	BytesPerSecond int           // 0 = not bounded
	After          int64         // bytes of a connection before Then
	Then           Cut           // 0 = none
}

// Proxy passes TCP connections to a server. Its faults hold for new connections.
type Proxy struct {
	Address string
	target  string

	mu struct {
		sync.Mutex
		faults Faults
		open   map[net.Conn]bool
	}
}

// StartProxy starts a proxy for an address.
func StartProxy(t testing.TB, target string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Address: l.Addr().String(), target: target}
	p.mu.open = map[net.Conn]bool{}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(c.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.closeAll()
		running.Wait()
	})
	return p
}

// Set sets the faults of new connections.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.faults = f
}

func (p *Proxy) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.mu.open {
		c.Close()
	}
}

// keep has the connection closed at the end, and returns the faults of a new one.
func (p *Proxy) keep(c net.Conn) Faults {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.open[c] = true
	return p.mu.faults
}

func (p *Proxy) forget(c net.Conn) {
	c.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.mu.open, c)
}

func (p *Proxy) serve(client *net.TCPConn) {
	faults := p.keep(client)
	defer p.forget(client)
	server, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	p.keep(server)
	defer p.forget(server)
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		io.Copy(server, client)
		server.Close()
	}()
	faults.pass(client, server)
	if faults.Then == Stall {
		<-asked
	}
	client.Close()
	<-asked
}

// pass copies an answer until it ends, or is cut.
func (f Faults) pass(client *net.TCPConn, server net.Conn) {
	buf := make([]byte, 16<<10)
	for passed := int64(0); ; {
		if f.Then != 0 && passed >= f.After {
			if f.Then == Reset {
				client.SetLinger(0)
			}
			return
		}
		n := len(buf)
		if f.Then != 0 {
			n = int(min(int64(n), f.After-passed))
		}
		if f.BytesPerSecond > 0 {
			n = min(n, max(1, f.BytesPerSecond/20))
		}
		n, err := server.Read(buf[:n])
		time.Sleep(f.delay(n))
		if _, failed := client.Write(buf[:n]); err != nil || failed != nil {
			return
		}
		passed += int64(n)
	}
}

func (f Faults) delay(n int) time.Duration {
	delay := f.Latency
	if f.BytesPerSecond > 0 {
		delay += time.Duration(n) * time.Second / time.Duration(f.BytesPerSecond)
	}
	return delay
}
