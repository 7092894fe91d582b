//go:build linux

package socket_test

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// sockets returns both ends of a connection.
func sockets(t *testing.T) (ours, theirs *net.UnixConn) {
	t.Helper()
	l, err := socket.Listen(filepath.Join(privateDir(t), "s", "socket"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return connected(t, l)
}

// connection returns one end of a connection, and the socket of the other.
func connection(t *testing.T) (*socket.Conn, *net.UnixConn) {
	t.Helper()
	ours, theirs := sockets(t)
	c, err := socket.NewConn(ours, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseFiles)
	return c, theirs
}

// sendFiles sends bytes with n descriptors.
func sendFiles(t *testing.T, to *net.UnixConn, bytes []byte, n int) {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fds := make([]int, n)
	for i := range fds {
		fds[i] = int(f.Fd())
	}
	if _, _, err := to.WriteMsgUnix(bytes, unix.UnixRights(fds...), nil); err != nil {
		t.Fatal(err)
	}
}

// TestDescriptorsOfFrames: what comes with more of them than it has is malformed, at once or,
// where a frame follows that may have the others, with too many.
func TestDescriptorsOfFrames(t *testing.T) {
	frame, err := wire.AppendFrame(nil, wire.TypeMemory, 1, &wire.Memory{ID: 1, Size: 4096})
	if err != nil {
		t.Fatal(err)
	}
	for _, each := range []struct {
		typ   wire.Type
		files int
		fails bool
	}{{wire.TypeMemory, 0, true}, {wire.TypeMemory, 1, false}, {wire.TypeBuffer, 1, true}} {
		c, theirs := connection(t)
		sendFiles(t, theirs, frame, each.files)
		_, _, err := c.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.TakeFiles(each.typ); errors.Is(err, wire.ErrMalformed) != each.fails {
			t.Errorf("%v with %d descriptors: %v", each.typ, each.files, err)
		}
	}
	c, theirs := connection(t)
	sendFiles(t, theirs, frame, wire.MaxFiles+1)
	if _, _, err := c.Next(); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("a frame with more than any has: %v", err)
	}
	c, theirs = connection(t)
	for i := range frame {
		sendFiles(t, theirs, frame[i:i+1], wire.MaxFiles)
	}
	if _, _, err := c.Next(); !errors.Is(err, wire.ErrMalformed) {
		t.Errorf("each byte with some: %v", err)
	}
}

// TestFirstFramesThatAreNoHello are left for what continues, which refuses them.
func TestFirstFramesThatAreNoHello(t *testing.T) {
	for typ, size := range map[wire.Type]uint32{wire.TypeStatus: 0, wire.TypeHello: wire.MaxHello - wire.HeaderSize + 1} {
		ours, theirs := sockets(t)
		header := make([]byte, wire.HeaderSize)
		binary.LittleEndian.PutUint32(header, size)
		header[4] = byte(typ)
		if _, err := theirs.Write(header); err != nil {
			t.Fatal(err)
		}
		frame, hello, err := socket.ReadHello(ours)
		if err != nil || len(frame) != wire.HeaderSize || hello.Newest != 0 {
			t.Errorf("%v of %d bytes: %d bytes were read, %+v, %v", typ, size, len(frame), hello, err)
		}
	}
}

// TestAHelloWithDescriptors is malformed for what reads it for another process.
func TestAHelloWithDescriptors(t *testing.T) {
	ours, theirs := sockets(t)
	hello, err := wire.AppendFrame(nil, wire.TypeHello, 1, &wire.Hello{Newest: wire.Version})
	if err != nil {
		t.Fatal(err)
	}
	sendFiles(t, theirs, hello, 1)
	if _, _, err := socket.ReadHello(ours); !errors.Is(err, wire.ErrMalformed) {
		t.Error(err)
	}
}

// TestEndsOfStreams: between two frames and within one.
func TestEndsOfStreams(t *testing.T) {
	frame, err := wire.AppendFrame(nil, wire.TypeStatus, 1, &wire.Data{Data: make([]byte, 100)})
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int]error{0: io.EOF, 1: io.ErrUnexpectedEOF, wire.HeaderSize: io.ErrUnexpectedEOF, len(frame) - 1: io.ErrUnexpectedEOF, len(frame): io.EOF} {
		c, theirs := connection(t)
		if _, err := theirs.Write(frame[:n]); err != nil {
			t.Fatal(err)
		}
		theirs.Close()
		_, _, err := c.Next()
		if n == len(frame) && err == nil {
			_, _, err = c.Next()
		}
		if !errors.Is(err, want) {
			t.Errorf("after %d bytes: %v, want %v", n, err, want)
		}
	}
}

// TestAReaderThatIsSlow reads a part of what the kernel holds: that it does is seen.
func TestAReaderThatIsSlow(t *testing.T) {
	c, theirs := connection(t)
	frames := make([]byte, 256<<10)
	for n := len(frames); n > 0; {
		var err error
		if n, err = c.TryWrite(frames); err != nil {
			t.Fatal(err)
		}
	}
	taken, written := make(chan int, len(frames)), make(chan error, 1)
	go func() { written <- c.WriteAll(frames, func(n int) { taken <- n }) }()
	if _, err := io.ReadFull(theirs, make([]byte, 48<<10)); err != nil {
		t.Fatal(err)
	}
	sum := 0
	select {
	case sum = <-taken:
	case <-time.After(20 * time.Second):
		t.Error("it is not seen that the reader has read")
	}
	read := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, theirs); read <- err }()
	if err := <-written; err != nil {
		t.Error(err)
	}
	for len(taken) > 0 {
		sum += <-taken
	}
	if n, err := c.TryWrite(frames[:1]); sum != len(frames) || n > 1 || err != nil {
		t.Errorf("%d bytes of %d were taken; after that %d, %v", sum, len(frames), n, err)
	}
	c.Close()
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// TestDescriptorsWithoutRoom has the limit of open files reached: that the kernel has dropped
// descriptors ends the connection, which cannot know whose they were.
func TestDescriptorsWithoutRoom(t *testing.T) {
	frame, err := wire.AppendFrame(nil, wire.TypeMemory, 1, &wire.Memory{ID: 1, Size: 4096})
	if err != nil {
		t.Fatal(err)
	}
	c, theirs := connection(t)
	sendFiles(t, theirs, frame, 1)
	var before unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	next, err := unix.Dup(0) // the lowest that is free
	if err != nil {
		t.Fatal(err)
	}
	unix.Close(next)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(next), Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Next()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, wire.ErrMalformed) || !strings.Contains(err.Error(), "no room") {
		t.Errorf("got %v", err)
	}
}
