package link

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// echo returns the address of a server that sends back what it reads until its end.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				data, _ := io.ReadAll(c)
				_, _ = c.Write(data)
			}()
		}
	}()
	return listener.Addr().String()
}

// Every byte passes, and takes no less time than the link has.
func TestLinkDelaysAndPaces(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		roundTrip time.Duration
		rate      Rate
		bytes     int
		least     time.Duration
	}{
		{0, 0, 100_000, 0},
		{100 * time.Millisecond, 0, 10, 200 * time.Millisecond},      // the handshake, then there and back
		{0, 8e6, 100_000, 195 * time.Millisecond},                    // 0.1 s each way
		{20 * time.Millisecond, 0, 2_000_000, 40 * time.Millisecond}, // more than one chunk on the way
	} {
		link, err := New(echo(t), c.roundTrip, c.rate)
		if err != nil {
			t.Fatal(err)
		}
		sent := bytes.Repeat([]byte("0123456789"), c.bytes/10)
		began := time.Now()
		conn, err := net.Dial("tcp", link.Addr())
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = conn.Write(sent)
			_ = conn.(*net.TCPConn).CloseWrite()
		}()
		got, err := io.ReadAll(conn)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%+v: %d bytes, %v", c, len(got), err)
		}
		if took := time.Since(began); took < c.least {
			t.Errorf("%+v: %v", c, took)
		}
		conn.Close()
		if err := link.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Close does not wait for a connection that does nothing.
func TestCloseEndsConnections(t *testing.T) {
	t.Parallel()
	link, err := New(echo(t), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", link.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if err := link.Close(); err != nil {
		t.Error(err)
	}
}

func TestRate(t *testing.T) {
	for text, want := range map[string]Rate{"100Mb/s": 1e8, "1Gb/s": 1e9, "0.5kb/s": 500} {
		var r Rate
		if err := r.Set(text); err != nil || r != want || r.String() != text {
			t.Errorf("%s: %v, %v", text, r.String(), err)
		}
	}
	for _, text := range []string{"", "100", "-1Mb/s", "NaNMb/s", "xMb/s", "0Mb/s"} {
		if err := new(Rate).Set(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
