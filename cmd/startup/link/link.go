// Package link is a network link with a latency and a bandwidth, on loopback: a TCP proxy
// that delays and paces what it passes on. Benchmarks put it before a server.
package link

import (
	"context"
	"net"
	"sync"
	"time"
)

// Link is a proxy before one address. All connections share its bandwidth, each direction
// its own. A connection costs a round trip before the first byte, as over a real network.
type Link struct {
	listener  net.Listener
	to        string
	roundTrip time.Duration
	up, down  pacer

	end   context.CancelFunc // of all connections
	pumps sync.WaitGroup
}

// New returns a link to an address ("127.0.0.1:80"). roundTrip is its latency, there and
// back; a rate of 0 is no limit. Close ends it.
func New(to string, roundTrip time.Duration, rate Rate) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	l := &Link{listener: listener, to: to, roundTrip: roundTrip, end: end}
	l.up.bytesPerSecond, l.down.bytesPerSecond = float64(rate)/8, float64(rate)/8
	l.pumps.Go(func() { l.accept(ctx) })
	return l, nil
}

// Addr returns the address of the near end.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Close ends all connections and waits for them.
func (l *Link) Close() error {
	err := l.listener.Close()
	l.end()
	l.pumps.Wait()
	return err
}

func (l *Link) accept(ctx context.Context) {
	for {
		near, err := l.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", l.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		l.pumps.Go(func() { l.serve(ctx, near, far) })
	}
}

// serve passes on both directions of a connection until both have ended, or the link.
func (l *Link) serve(ctx context.Context, near, far net.Conn) {
	closeBoth := func() {
		_ = near.Close()
		_ = far.Close()
	}
	defer closeBoth()
	defer context.AfterFunc(ctx, closeBoth)()
	var directions sync.WaitGroup
	directions.Go(func() { l.pump(far, near, &l.up, l.roundTrip) })
	directions.Go(func() { l.pump(near, far, &l.down, 0) })
	directions.Wait()
}

// chunk is what was read at once, and when it arrives.
type chunk struct {
	data    []byte
	arrives time.Time
}

const (
	chunkBytes = 16 << 10
	maxQueued  = 4096 // chunks on the way: 64 MiB
)

// pump copies from one connection to the other. handshake is an additional delay before
// the first byte.
func (l *Link) pump(to, from net.Conn, p *pacer, handshake time.Duration) {
	queue := make(chan chunk, maxQueued)
	go func() {
		defer close(queue)
		ready := time.Now().Add(handshake)
		for {
			data := make([]byte, chunkBytes)
			n, err := from.Read(data)
			if n > 0 {
				queue <- chunk{data[:n], p.passes(ready, n).Add(l.roundTrip / 2)}
			}
			if err != nil {
				return
			}
		}
	}()
	for c := range queue {
		time.Sleep(time.Until(c.arrives))
		if _, err := to.Write(c.data); err != nil {
			_ = from.Close()
			break
		}
	}
	if half, ok := to.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
	for range queue { // until the reader has ended
	}
}

// pacer is one direction of a link.
type pacer struct {
	bytesPerSecond float64 // 0: no limit

	mu   sync.Mutex
	free time.Time // when the bytes before have passed
}

// passes returns when n more bytes have passed, if they wait for ready.
func (p *pacer) passes(ready time.Time, n int) time.Time {
	now := time.Now()
	if now.Before(ready) {
		now = ready
	}
	if p.bytesPerSecond == 0 {
		return now
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free.Before(now) {
		p.free = now
	}
	p.free = p.free.Add(time.Duration(float64(n) / p.bytesPerSecond * float64(time.Second)))
	return p.free
}
