//go:build linux

package socket_test

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// connected returns both ends of a connection.
func connected(t *testing.T, l *socket.Listener) (ours, theirs *net.UnixConn) {
	t.Helper()
	c, err := net.Dial("unix", l.Path())
	if err != nil {
		t.Fatal(err)
	}
	ours, err = l.AcceptSocket()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); ours.Close() })
	return ours, c.(*net.UnixConn)
}

// TestLobby fills a lobby: silent connections leave for others, the oldest first; where all
// have sent something, the oldest leaves when what it has sent is read.
func TestLobby(t *testing.T) {
	l, err := socket.Listen(filepath.Join(privateDir(t), "s", "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lobby := socket.NewLobby()
	var ours, theirs []*net.UnixConn
	connect := func() *net.UnixConn {
		a, b := connected(t, l)
		ours, theirs = append(ours, a), append(theirs, b)
		return a
	}
	enter := func() { lobby.Enter(connect()) }
	speak := func(i int) {
		if _, err := theirs[i].Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
	}
	wantGivenUp := func(i int) {
		theirs[i].Close() // ends the read where it was not
		if _, err := ours[i].Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	for len(ours) < 64 {
		enter()
	}
	speak(0)
	enter()
	wantGivenUp(1)
	for i := 2; i < 65; i++ {
		speak(i)
	}
	start := time.Now()
	enter()
	n, err := ours[0].Read(make([]byte, 8))
	if took := time.Since(start); (n != 1 || err != nil) && took < 50*time.Millisecond { // the time for it has not passed
		t.Errorf("what the oldest has said: %d bytes, %v, after %v", n, err, took)
	}
	if _, err := ours[0].Read(make([]byte, 8)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the oldest is not given up: %v", err)
	}
	lobby.Leave(ours[30])
	for _, i := range []int{2, 30, 64} {
		if n, err := io.ReadFull(ours[i], make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}
	lobby.Close()
	wantGivenUp(65)
	enter()
	wantGivenUp(66)
}

// A hello that came as the lobby gave its connection up is read: of clients that start together on
// a busy machine many have not sent theirs when they are accepted.
func TestHelloOfOneThatLeftTheLobby(t *testing.T) {
	l, err := socket.Listen(filepath.Join(privateDir(t), "s", "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	lobby := socket.NewLobby()
	var ours, theirs []*net.UnixConn
	for range 66 { // the first two leave
		a, b := connected(t, l)
		lobby.Enter(a)
		ours, theirs = append(ours, a), append(theirs, b)
	}
	frame, err := wire.AppendFrame(nil, wire.TypeHello, 1, &wire.Hello{Client: []byte("late")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, err := theirs[i].Write(frame); err != nil {
			t.Fatal(err)
		}
	}
	if _, hello, err := socket.ReadHello(ours[0]); err != nil || string(hello.Client) != "late" {
		t.Errorf("ReadHello: %q, %v", hello.Client, err)
	}
	c, err := socket.NewConn(ours[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	if h, _, err := c.NextHello(); err != nil || h.Type != wire.TypeHello {
		t.Errorf("NextHello: %v, %v", h.Type, err)
	}
}
