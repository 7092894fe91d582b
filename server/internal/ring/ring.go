//go:build linux

// Package ring carries frames through memory that two processes share, without system
// calls while both are awake. docs/protocol.md defines its layout.
//
// The peer is not trusted: positions are checked before they are used, and a frame is
// copied before it is read.
package ring

import (
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/shadercache/shadercache/server/internal/wire"
)

// Sizes of one of the two byte rings.
const (
	MinSize = 4 << 10
	MaxSize = 1 << 20
)

const (
	headerBytes = 4096
	halfBytes   = 256 // from the fields of the requests to those of the replies
	headAt      = 0
	tailAt      = 64
	waitingAt   = 128
)

// Bytes returns the bytes of memory that a ring needs.
func Bytes(size int) int { return headerBytes + 2*size }

// Side is the process that uses a Ring.
type Side int

// The sides.
const (
	Server Side = iota
	Client
)

// half is one direction.
type half struct {
	data       []byte
	head, tail *atomic.Uint64
	waiting    *atomic.Uint32 // 1 while the reader has to be woken
}

// Ring is one side's end of a pair of byte rings. One goroutine may read and one may
// write at the same time.
type Ring struct {
	in, out half
	woken   chan struct{}
	wake    func() error // the other side
	closed  atomic.Bool
	frame   []byte // of Next, reused
}

// Check returns an error for a size that no ring has.
func Check(size int) error {
	if size < MinSize || size > MaxSize || bits.OnesCount(uint(size)) != 1 {
		return fmt.Errorf("a ring of %d bytes: a power of 2 from %d to %d is needed", size, MinSize, MaxSize)
	}
	return nil
}

// New returns the end of a side over zeroed memory of Bytes(size) bytes; Check allows the size. wake
// has the other side call Wake, or look at its ring.
func New(side Side, memory []byte, size int, wake func() error) *Ring {
	requests := newHalf(memory, 0, memory[headerBytes:headerBytes+size])
	replies := newHalf(memory, halfBytes, memory[headerBytes+size:headerBytes+2*size])
	r := &Ring{in: requests, out: replies, woken: make(chan struct{}, 1), wake: wake}
	if side == Client {
		r.in, r.out = replies, requests
	}
	return r
}

// newHalf returns the direction whose fields start at an offset. Memory that is mapped
// starts at a page, so that every field is aligned.
func newHalf(memory []byte, at int, data []byte) half {
	field := func(offset int) unsafe.Pointer { return unsafe.Pointer(&memory[at+offset]) }
	return half{
		data: data, head: (*atomic.Uint64)(field(headAt)), tail: (*atomic.Uint64)(field(tailAt)),
		waiting: (*atomic.Uint32)(field(waitingAt)),
	}
}

// SpinTime is the time that a reader spins before it sleeps: several times the round trip
// of a small job, so that the readers of both sides are awake while a client sends one job
// after the other.
const SpinTime = 200 * time.Microsecond

// Spins reports whether readers spin: where there are CPUs for both sides.
func Spins() bool { return runtime.GOMAXPROCS(0) >= 4 }

// Next waits for the next frame and returns it: it spins, where there are CPUs for that, and
// then sleeps. It returns what Sleep and Take return.
func (r *Ring) Next() (h wire.Header, body []byte, err error) {
	if r.closed.Load() || !r.Ready() && !(Spins() && Spin(r.Ready)) {
		if err := r.Sleep(); err != nil {
			return h, nil, err
		}
	}
	return r.Take()
}

// Take returns the next frame, whose body is valid until the next call. It is for a Ring
// that is Ready, and returns wire.ErrMalformed, wrapped, for what is not a frame.
func (r *Ring) Take() (h wire.Header, body []byte, err error) {
	head, tail := r.in.head.Load(), r.in.tail.Load()
	available := tail - head
	if available > uint64(len(r.in.data)) || available < wire.HeaderSize {
		return h, nil, fmt.Errorf("%w: %d bytes in a ring of %d", wire.ErrMalformed, available, len(r.in.data))
	}
	r.frame = r.in.read(r.frame[:0], head, wire.HeaderSize)
	if h, err = wire.ParseHeader(r.frame); err != nil {
		return h, nil, err
	}
	size := wire.HeaderSize + int(h.Size)
	if uint64(size) > available {
		return h, nil, fmt.Errorf("%w: a frame of %d bytes of which %d are there", wire.ErrMalformed, size, available)
	}
	r.frame = r.in.read(r.frame, head+wire.HeaderSize, int(h.Size))
	r.in.head.Store(head + uint64(size))
	return h, r.frame[wire.HeaderSize:], nil
}

// Ready reports whether Next would return without waiting.
func (r *Ring) Ready() bool { return r.in.tail.Load() != r.in.head.Load() }

// Sleep waits, without spinning, until there is something to read. It returns io.EOF after
// Close, also where there is.
func (r *Ring) Sleep() error {
	for !r.closed.Load() && r.Arm() {
		<-r.woken
	}
	r.Disarm()
	if r.closed.Load() {
		return io.EOF
	}
	return nil
}

// Wake has Sleep look again. It does not wait.
func (r *Ring) Wake() {
	select {
	case r.woken <- struct{}{}:
	default:
	}
}

// Arm has the other side wake this one for the next frame. It reports false where that has
// come already.
func (r *Ring) Arm() bool {
	r.in.waiting.Store(1)
	return !r.Ready()
}

// Disarm begins a time in which a goroutine polls Ready: the other side need not wake any.
// Arm ends it.
func (r *Ring) Disarm() { r.in.waiting.Store(0) }

// Spin calls done until it reports true, for at most SpinTime, and reports whether it did. A
// goroutine that has made others runnable yields before: they wait in its processor's queue.
func Spin(done func() bool) bool {
	start := time.Now()
	for now, yielded := start, start; now.Sub(start) < SpinTime; now = time.Now() {
		for range 32 {
			if done() {
				return true
			}
		}
		if now.Sub(yielded) >= yieldTime {
			yielded = now
			runtime.Gosched()
		}
	}
	return false
}

// yieldTime is the time for which Spin keeps its processor: longer than most round trips, as
// a yield takes the lock of Go's scheduler and wakes a thread that looks for work.
const yieldTime = 50 * time.Microsecond

// read appends n bytes at a position.
func (h *half) read(to []byte, position uint64, n int) []byte {
	at := int(position & uint64(len(h.data)-1))
	first := min(n, len(h.data)-at)
	to = append(to, h.data[at:at+first]...)
	return append(to, h.data[:n-first]...)
}

// write copies b to a position.
func (h *half) write(position uint64, b []byte) {
	at := int(position & uint64(len(h.data)-1))
	copy(h.data, b[copy(h.data[at:], b):])
}

// TryWrite writes the whole frames at the start of frames that there is room for, and
// returns their bytes. It returns wire.ErrMalformed, wrapped, where the other side has
// destroyed its positions.
func (r *Ring) TryWrite(frames []byte) (n int, err error) {
	if r.closed.Load() {
		return 0, os.ErrClosed
	}
	head, tail := r.out.head.Load(), r.out.tail.Load()
	used := tail - head
	if used > uint64(len(r.out.data)) {
		return 0, fmt.Errorf("%w: %d bytes in a ring of %d", wire.ErrMalformed, used, len(r.out.data))
	}
	room := len(r.out.data) - int(used)
	for len(frames)-n >= wire.HeaderSize {
		size := wire.HeaderSize + int(binary.LittleEndian.Uint32(frames[n:]))
		if size > room-n {
			break
		}
		n += size
	}
	if n == 0 {
		return 0, nil
	}
	r.out.write(tail, frames[:n])
	r.out.tail.Store(tail + uint64(n))
	if r.out.waiting.Swap(0) == 1 {
		err = r.wake()
	}
	return n, err
}

// pollTime is the time between the first looks of a writer for room. It grows with the time that
// the reader has read nothing, which may be hours and costs little then.
const (
	pollTime    = 50 * time.Microsecond
	maxPollTime = 50 * time.Millisecond
)

// WriteAll writes all frames, and says what was taken. It waits while there is no room, until Close.
func (r *Ring) WriteAll(frames []byte, took func(n int)) error {
	for read := time.Now(); ; time.Sleep(min(pollTime+time.Since(read)/8, maxPollTime)) {
		n, err := r.TryWrite(frames)
		if n > 0 {
			read = time.Now()
			took(n)
		}
		if frames = frames[n:]; err != nil || len(frames) == 0 {
			return err
		}
	}
}

// Fits reports whether a frame of n bytes can be written at all.
func (r *Ring) Fits(n int) bool { return n <= len(r.out.data) }

// Close makes Next return io.EOF, and writes fail. It may be called at any time, and
// again.
func (r *Ring) Close() error {
	r.closed.Store(true)
	r.Wake()
	return nil
}
