//go:build linux

package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server/internal/ring"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// raw is a client that can send anything: frames made by hand, in any order and in parts,
// with any descriptors, and memory and rings that it changes after the server has checked them.
type raw struct {
	*socket.Conn
	t testing.TB
}

func (f *fixture) raw() *raw {
	f.t.Helper()
	conn, err := socket.Dial(f.t.Context(), f.path)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	return &raw{conn, f.t}
}

// rawSession is raw after its hello.
func (f *fixture) rawSession() *raw {
	f.t.Helper()
	r := f.raw()
	r.send(hello)
	r.want(wire.TypeHello|wire.ReplyBit, 1)
	return r
}

// frame returns one frame.
func frame(t wire.Type, request uint64, m wire.Message) []byte {
	b, err := wire.AppendFrame(nil, t, request, m)
	if err != nil {
		panic(err)
	}
	return b
}

var hello = frame(wire.TypeHello, 1, &wire.Hello{Oldest: 1, Newest: wire.Version, Client: []byte("raw")})

// send writes frames at once: requests are pipelined.
func (r *raw) send(frames ...[]byte) {
	r.t.Helper()
	if err := r.Write(bytes.Join(frames, nil)); err != nil {
		r.t.Fatal(err)
	}
}

// want reads a reply and returns its body.
func (r *raw) want(t wire.Type, request uint64) []byte {
	r.t.Helper()
	h, body, err := r.Next()
	if err != nil || h.Type != t || h.Request != request {
		r.t.Fatalf("got %v for request %d (%v, %.80q), want %v for %d", h.Type, h.Request, err, body, t, request)
	}
	return bytes.Clone(body)
}

// answer is the reply to one request.
type answer struct {
	wire.Type
	wire.Code // of an error, else 0
	body      []byte
}

// answers reads n replies, in any order, and whatever says that the server goes on.
func (r *raw) answers(n int) map[uint64]answer {
	r.t.Helper()
	all := map[uint64]answer{}
	for len(all) < n {
		h, body, err := r.Next()
		if h.Type == wire.TypeWake && h.Request == 0 {
			continue
		}
		if err != nil {
			r.t.Fatalf("after %d of %d replies: %v", len(all), n, err)
		}
		a := answer{Type: h.Type, body: bytes.Clone(body)}
		if h.Type == wire.TypeError {
			var m wire.Error
			if err := wire.Decode(body, &m); err != nil {
				r.t.Fatal(err)
			}
			a.Code = m.Code
		}
		if _, twice := all[h.Request]; twice {
			r.t.Fatalf("request %d was answered twice", h.Request)
		}
		all[h.Request] = a
	}
	return all
}

// wantError reads an error with a code.
func (r *raw) wantError(request uint64, code wire.Code) {
	r.t.Helper()
	var m wire.Error
	if err := wire.Decode(r.want(wire.TypeError, request), &m); err != nil || m.Code != code {
		r.t.Errorf("got %v (%s), want %v", m.Code, m.Message, code)
	}
}

// wantEnd reads until the server has closed the connection.
func (r *raw) wantEnd() {
	r.t.Helper()
	if _, _, err := r.Next(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		r.t.Errorf("the connection was not closed: %v", err)
	}
}

// share sends memory of size bytes as object id, with that number of request, and returns it.
func (r *raw) share(request uint64, id uint32, size int) (file *os.File, memory []byte) {
	r.t.Helper()
	file, memory = rawMemory(r.t, size)
	if err := r.Write(frame(wire.TypeMemory, request, &wire.Memory{ID: id, Size: uint64(size)}), file); err != nil {
		r.t.Fatal(err)
	}
	r.want(wire.TypeMemory|wire.ReplyBit, request)
	return file, memory
}

func rawMemory(t testing.TB, size int) (*os.File, []byte) {
	t.Helper()
	file, memory, err := socket.NewMemory("test", size)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close(); _ = socket.Unmap(memory) })
	return file, memory
}

// rawRing is the client's end of a ring, whose words it may set as it likes.
type rawRing struct {
	memory []byte
	size   int
	r      *raw
	t      testing.TB
}

// The words of a ring, of the requests and 256 bytes on of the replies.
const (
	ringHead    = 0
	ringTail    = 64
	ringWaiting = 128
	ringReplies = 256
	ringBytes   = 4096
)

// openRing sends a ring of the least size, which it calls size, with request 2, and does not
// read the reply.
func (r *raw) openRing(size uint32) *rawRing {
	r.t.Helper()
	file, memory := rawMemory(r.t, ring.Bytes(ring.MinSize))
	if err := r.Write(frame(wire.TypeRing, 2, &wire.Ring{Size: size}), file); err != nil {
		r.t.Fatal(err)
	}
	return &rawRing{memory, ring.MinSize, r, r.t}
}

// ring opens a ring.
func (r *raw) ring() *rawRing {
	r.t.Helper()
	made := r.openRing(ring.MinSize)
	r.want(wire.TypeRing|wire.ReplyBit, 2)
	return made
}

func (r *rawRing) word(at int) uint64         { return binary.LittleEndian.Uint64(r.memory[at:]) }
func (r *rawRing) setWord(at int, to uint64)  { binary.LittleEndian.PutUint64(r.memory[at:], to) }
func (r *rawRing) setWaiting(at int, to byte) { r.memory[at+ringWaiting] = to }

// put writes frames, for which there has to be room, and wakes the server.
func (r *rawRing) put(frames ...[]byte) {
	r.t.Helper()
	tail := r.word(ringTail)
	for _, b := range bytes.Join(frames, nil) {
		r.memory[ringBytes+int(tail)%r.size] = b
		tail++
	}
	r.setWord(ringTail, tail)
	r.ringServer()
}

// ringServer wakes the server's reader, where the session has not ended.
func (r *rawRing) ringServer() { _ = r.r.Write(frame(wire.TypeWake, 0, &wire.Empty{})) }

// want reads a reply and returns its body.
func (r *rawRing) want(t wire.Type, request uint64) []byte {
	r.t.Helper()
	h, body := r.next()
	if h.Type != t || h.Request != request {
		r.t.Fatalf("got %v for request %d (%.80q), want %v for %d", h.Type, h.Request, body, t, request)
	}
	return body
}

// next reads a reply.
func (r *rawRing) next() (h wire.Header, body []byte) {
	r.t.Helper()
	head := r.word(ringReplies + ringHead)
	eventually(r.t, "a reply in the ring", func() bool { return r.word(ringReplies+ringTail) != head })
	take := func(n int) (b []byte) {
		for range n {
			b = append(b, r.memory[ringBytes+r.size+int(head)%r.size])
			head++
		}
		return b
	}
	h, err := wire.ParseHeader(take(wire.HeaderSize))
	if err != nil {
		r.t.Fatal(err)
	}
	body = take(int(h.Size))
	r.setWord(ringReplies+ringHead, head)
	return h, body
}

// control calls fn with a descriptor, without Go's poller.
func control(f *os.File, fn func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { failed = fn(int(fd)) })
	return errors.Join(err, failed)
}
