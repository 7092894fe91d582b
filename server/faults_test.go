//go:build linux

package server_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/wire"
	"github.com/shadercache/shadercache/shader"
)

// validStream returns the frames of a short session: hello, program, buffer, job, copy.
func validStream() []byte {
	const n = 256
	return slicesConcat(
		hello,
		frame(wire.TypeProgram, 2, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}),
		frame(wire.TypeBuffer, 3, &wire.Buffer{ID: 1, Flags: wire.Create, Size: 4 * n}),
		frame(wire.TypeBuffer, 4, &wire.Buffer{ID: 2, Flags: wire.Create, Size: 4 * n, Name: []byte("shared")}),
		frame(wire.TypeJob, 5, validJob(n, 1)),
		frame(wire.TypeCopy, 6, &wire.Copy{
			From: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, 64)}, To: wire.Operand{Place: wire.PlaceBuffer, ID: 2, Size: 64},
		}),
		frame(wire.TypeStatus, 7, &wire.Empty{}),
		frame(wire.TypeRelease, 8, &wire.Release{Kind: wire.KindBuffer, ID: 1}),
		frame(wire.TypeCancel, 9, &wire.Cancel{Request: 5}),
	)
}

func slicesConcat(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// validJob computes 3*x + 4 of n words with program 1.
func validJob(n int, program uint32) *wire.Job {
	return &wire.Job{
		In:  []wire.Binding{{Operand: wire.Operand{Place: wire.PlaceInline, Data: words(n, func(i uint32) uint32 { return i })}}},
		Out: []wire.Binding{{Binding: 1, Operand: wire.Operand{Place: wire.PlaceInline, Size: uint64(4 * n)}}},
		Job: job.Job{Dispatch: job.Dispatch{
			Program: rawProgram(program), Groups: [3]uint32{uint32(n+63) / 64, 1, 1},
			Uniforms: []job.Uniform{job.Uint("a", 3), job.Uint("b", 4)},
		}},
	}
}

// numbered is a program or a buffer by its id in a session.
type numbered struct {
	job.Program
	job.Bindable
	id uint32
}

func (n numbered) ID() uint32 { return n.id }

func rawProgram(id uint32) job.Program { return numbered{id: id} }

// rawBuffer is the buffer of an id at binding 0.
func rawBuffer(id uint32) job.Bound { return job.Bound{Buffer: numbered{id: id}} }

// noDispatch has the body of a job without dispatches, which is that of an empty run.
var noDispatch = &wire.Run{}

func TestPipelinedRequestsNeedNoReplies(t *testing.T) {
	r := serve(t, server.Options{}).raw()
	if err := r.Write(validStream()); err != nil {
		t.Fatal(err)
	}
	replies := map[uint64]wire.Type{}
	for range 9 {
		h, body, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		replies[h.Request] = h.Type
		var data wire.Data
		if h.Request == 5 && h.Type != wire.TypeError {
			if err := wire.Decode(body, &data); err != nil || !bytes.Equal(data.Data, words(256, func(i uint32) uint32 { return 3*i + 4 })) {
				t.Errorf("the job computed wrong: %v", err)
			}
		}
	}
	// The cancel may come before the job is done.
	for request, typ := range map[uint64]wire.Type{1: wire.TypeHello, 2: wire.TypeProgram, 3: wire.TypeBuffer, 4: wire.TypeBuffer, 6: wire.TypeCopy, 7: wire.TypeStatus, 8: wire.TypeRelease, 9: wire.TypeCancel} {
		if replies[request] != typ|wire.ReplyBit {
			t.Errorf("request %d: %v", request, replies[request])
		}
	}
}

func TestMalformedBytesEndTheirSessionOnly(t *testing.T) {
	f := serve(t, server.Options{})
	good := f.dial()
	p := program(t, good, affine)
	header := func(size uint32, typ, flags uint16, request uint64) []byte {
		b := binary.LittleEndian.AppendUint32(nil, size)
		b = binary.LittleEndian.AppendUint16(b, typ)
		b = binary.LittleEndian.AppendUint16(b, flags)
		return binary.LittleEndian.AppendUint64(b, request)
	}
	after := func(b []byte) []byte { return slicesConcat(hello, b) }
	for name, b := range map[string][]byte{
		"garbage":             bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 20),
		"no hello":            frame(wire.TypeStatus, 1, &wire.Empty{}),
		"another magic":       append(header(10, 1, 0, 1), make([]byte, 10)...),
		"a huge hello":        header(1<<31, 1, 0, 1),
		"a huge length":       after(header(0xFFFFFFFF, 6, 0, 2)),
		"flags":               after(header(0, 13, 1, 2)),
		"an unknown type":     after(header(0, 99, 0, 2)),
		"a reply":             after(header(0, 0x8006, 0, 2)),
		"a second hello":      after(hello),
		"request 0":           after(frame(wire.TypeStatus, 0, &wire.Empty{})),
		"a body too long":     after(append(header(1, 13, 0, 2), 7)),
		"a job of nothing":    after(frame(wire.TypeJob, 2, noDispatch)),
		"a short job":         after(append(header(4, 6, 0, 2), 1, 2, 3, 4)),
		"memory without file": after(frame(wire.TypeMemory, 2, &wire.Memory{ID: 1, Size: 4096})),
	} {
		r := f.raw()
		if err := r.Write(b); err != nil {
			t.Fatal(name, err)
		}
		if bytes.HasPrefix(b, hello) {
			r.want(wire.TypeHello|wire.ReplyBit, 1)
		}
		var m wire.Error
		h, body, err := r.Next()
		for err == nil && h.Request != 0 { // the request itself may be answered too
			h, body, err = r.Next()
		}
		if err = errors.Join(err, wire.Decode(body, &m)); err != nil || m.Code != wire.CodeMalformed {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
		r.wantEnd()
		if err := run(t.Context(), good, p, 100, 3, 4); err != nil {
			t.Errorf("after %s: %v", name, err)
		}
	}
	eventually(t, "one session", func() bool { return len(f.Status().Sessions) == 1 })
}

// TestClientsThatVanishAtAnyByte closes connections after each of many parts of a
// session, as a killed process does.
func TestClientsThatVanishAtAnyByte(t *testing.T) {
	f := serve(t, server.Options{})
	good := f.dial()
	p := program(t, good, affine)
	stream := validStream()
	for i := range 100 {
		r := f.raw()
		_ = r.Write(stream[:len(stream)*i/99])
		r.Close()
		if i%10 == 0 {
			if err := run(t.Context(), good, p, 1000, 3, uint32(i)); err != nil {
				t.Errorf("after %d: %v", i, err)
			}
		}
	}
	f.wantNothingLeft(good)
}

// wantNothingLeft waits until only the session of a client is there, and what it has.
func (f *fixture) wantNothingLeft(good *client.Client) {
	f.t.Helper()
	eventually(f.t, "nothing left but one session", func() bool {
		s := f.Status()
		return len(s.Sessions) == 1 && s.Sessions[0].Unanswered == 0
	})
	if err := good.DeleteBuffer(f.t.Context(), "shared"); err != nil && !errors.Is(err, job.ErrNotFound) {
		f.t.Error(err)
	}
	eventually(f.t, "no named bytes", func() bool { return f.Status().NamedBytes == 0 })
}

// TestDamagedStreams sends valid sessions with random damage: whatever is answered, the
// server serves the others right.
func TestDamagedStreams(t *testing.T) {
	f := serve(t, server.Options{ReadTime: 200 * time.Millisecond, NamedTime: 10 * time.Millisecond})
	good := f.dial()
	p := program(t, good, affine)
	random := rand.New(rand.NewPCG(1, 2))
	runs := 150
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		runs = 20_000
	}
	for i := range runs {
		b := validStream()
		for range 1 + random.IntN(4) {
			at := random.IntN(len(b))
			if i%2 == 0 {
				at = len(hello) + random.IntN(64) // headers, ids, lengths
			}
			b[at] ^= 1 << random.IntN(8)
		}
		r := f.raw()
		_ = r.Write(b[:len(b)-random.IntN(2)*random.IntN(100)])
		if i%3 == 0 { // reads what comes until the server ends, or the job is answered
			for n := 0; n < 8; n++ {
				if _, _, err := r.Next(); err != nil {
					break
				}
				_ = r.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			}
		}
		r.Close()
		if i%25 == 0 {
			if err := run(t.Context(), good, p, 777, 5, uint32(i)); err != nil {
				t.Fatalf("after %d: %v", i, err)
			}
		}
	}
	f.wantNothingLeft(good)
}

func TestForeignDescriptorsAreRefused(t *testing.T) {
	f := serve(t, server.Options{})
	memfd := func(size int64, flags, seals int) *os.File {
		fd, err := unix.MemfdCreate("test", flags)
		if err != nil {
			t.Fatal(err)
		}
		file := os.NewFile(uintptr(fd), "memfd")
		t.Cleanup(func() { file.Close() })
		if err := file.Truncate(size); err != nil {
			t.Fatal(err)
		}
		if seals != 0 {
			if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals); err != nil {
				t.Fatal(err)
			}
		}
		return file
	}
	regular, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer regular.Close()
	_ = regular.Truncate(4096)
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	for name, file := range map[string]*os.File{
		"unsealed":       memfd(4096, unix.MFD_ALLOW_SEALING, 0),
		"sealed to grow": memfd(4096, unix.MFD_ALLOW_SEALING, unix.F_SEAL_GROW),
		"too small":      memfd(4095, unix.MFD_ALLOW_SEALING, unix.F_SEAL_SHRINK),
		"read-only":      memfd(4096, unix.MFD_ALLOW_SEALING, unix.F_SEAL_SHRINK|unix.F_SEAL_WRITE),
		"a regular file": regular,
		"/dev/null":      null,
	} {
		r := f.raw()
		if err := errors.Join(r.Write(hello), r.Write(frame(wire.TypeMemory, 2, &wire.Memory{ID: 1, Size: 4096}), file)); err != nil {
			t.Fatal(err)
		}
		r.want(wire.TypeHello|wire.ReplyBit, 1)
		h, body, err := r.Next()
		var m wire.Error
		if err = errors.Join(err, wire.Decode(body, &m)); err != nil || h.Request != 2 || m.Code == wire.CodeMalformed {
			t.Errorf("%s: %v, %+v", name, err, m)
		}
	}
	sealed := memfd(4096, unix.MFD_ALLOW_SEALING, unix.F_SEAL_SHRINK)
	for name, files := range map[string][]*os.File{
		"one too many":  {sealed, sealed},
		"many too many": {sealed, sealed, sealed, sealed, sealed, sealed},
	} {
		r := f.raw()
		_ = r.Write(hello)
		r.want(wire.TypeHello|wire.ReplyBit, 1)
		_ = r.Write(frame(wire.TypeMemory, 2, &wire.Memory{ID: 1, Size: 4096}), files...)
		for {
			h, _, err := r.Next()
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if err != nil || h.Request == 0 {
				break
			}
		}
		r.wantEnd()
	}
}

// TestMemoryWithoutRoom shares more memory than an address space has: that is no fault of the client's.
func TestMemoryWithoutRoom(t *testing.T) {
	const size = 1 << 50
	r := serve(t, server.Options{CopyMemory: true, Limits: wire.Limits{Memory: 2 * size}}).rawSession()
	fd, err := unix.MemfdCreate("test", unix.MFD_ALLOW_SEALING)
	if err != nil {
		t.Fatal(err)
	}
	file := os.NewFile(uintptr(fd), "memfd")
	defer file.Close()
	if err := file.Truncate(size); err != nil {
		t.Fatal(err)
	}
	if _, err := unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK); err != nil {
		t.Fatal(err)
	}
	_ = r.Write(frame(wire.TypeMemory, 2, &wire.Memory{ID: 1, Size: size}), file)
	r.wantError(2, wire.CodeOutOfMemory)
}

// TestMemoryThatTheClientEmpties punches holes into memory that is mapped, after it tried
// to truncate it.
func TestMemoryThatTheClientEmpties(t *testing.T) {
	f := serve(t, server.Options{})
	good := f.dial()
	p := program(t, good, affine)
	const size = 1 << 20
	file, memory, err := socket.NewMemory("test", size)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer socket.Unmap(memory)
	r := f.raw()
	if err := errors.Join(r.Write(hello), r.Write(frame(wire.TypeMemory, 2, &wire.Memory{ID: 1, Size: size}), file)); err != nil {
		t.Fatal(err)
	}
	r.want(wire.TypeHello|wire.ReplyBit, 1)
	r.want(wire.TypeMemory|wire.ReplyBit, 2)
	if err := file.Truncate(0); err == nil {
		t.Fatal("sealed memory could be truncated")
	}
	_ = r.Write(frame(wire.TypeProgram, 3, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}))
	r.want(wire.TypeProgram|wire.ReplyBit, 3)
	job := validJob(size/4, 1)
	job.In[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: size}
	job.Out[0].Operand = wire.Operand{Place: wire.PlaceMemory, ID: 1, Size: size}
	for i := range 20 {
		_ = r.Write(frame(wire.TypeJob, uint64(10+i), job))
		if err := unix.Fallocate(int(file.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, size); err != nil {
			t.Fatal(err)
		}
		r.want(wire.TypeJob|wire.ReplyBit, uint64(10+i))
	}
	if err := run(t.Context(), good, p, 1000, 3, 4); err != nil {
		t.Error(err)
	}
}

// TestAClientThatDoesNotRead sends jobs with large replies and reads none.
func TestAClientThatDoesNotRead(t *testing.T) {
	f := serve(t, server.Options{ReadTime: 300 * time.Millisecond})
	good := f.dial()
	p := program(t, good, affine)
	r := f.raw()
	_ = r.Write(slicesConcat(hello, frame(wire.TypeProgram, 2, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())})))
	r.want(wire.TypeHello|wire.ReplyBit, 1)
	r.want(wire.TypeProgram|wire.ReplyBit, 2)
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := uint64(10); ; i++ {
			if err := r.Write(frame(wire.TypeJob, i, validJob(16<<10, 1))); err != nil {
				return // the server has ended the session
			}
		}
	})
	for i := range 50 {
		if err := run(t.Context(), good, p, 1000, 3, uint32(i)); err != nil {
			t.Error(err)
		}
	}
	eventually(t, "its session ended", func() bool { return len(f.Status().Sessions) == 1 })
	writing.Wait()
	if err := run(t.Context(), good, p, 1000, 3, 4); err != nil {
		t.Error(err)
	}
}

// TestAnotherUserIsRefused connects as another user, although the permissions of the
// socket would allow it.
func TestAnotherUserIsRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can act as another user")
	}
	f := serve(t, server.Options{})
	if err := errors.Join(os.Chmod(filepath.Dir(f.path), 0o711), os.Chmod(f.path, 0o777)); err != nil {
		t.Fatal(err)
	}
	closed := make(chan error, 1)
	go func() {
		// The thread ends with the goroutine: it is locked, and another user's.
		runtime.LockOSThread()
		closed <- connectAs(65534, f.path)
	}()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	// The connection is closed before it is counted.
	eventually(t, "a refusal", func() bool { n := f.Status().Counters; return n.Refused == 1 && n.Sessions == 0 })
	// A client does not trust a directory that others may enter.
	if _, err := client.Dial(t.Context(), client.Options{Path: f.path}); !errors.Is(err, socket.ErrUnsafe) {
		t.Error(err)
	}
}

// connectAs sends a hello as another user, and fails where it is not refused.
func connectAs(uid uintptr, path string) error {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, ^uintptr(0), uid, ^uintptr(0)); errno != 0 {
		return errno
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return err
	}
	_, _ = unix.Write(fd, hello)
	if n, err := unix.Read(fd, make([]byte, 16)); n > 0 {
		return fmt.Errorf("the server answered %d bytes (%v)", n, err)
	}
	return nil
}

func TestVersionsThatDoNotMatch(t *testing.T) {
	f := serve(t, server.Options{})
	for _, h := range []*wire.Hello{{Oldest: wire.Version + 1, Newest: 9}, {Oldest: 9, Newest: 9, Device: []byte("1")}, {Oldest: 0, Newest: 0}, {Newest: wire.Version - 1}} {
		r := f.raw()
		_ = r.Write(frame(wire.TypeHello, 1, h))
		r.wantError(0, wire.CodeVersion)
		r.wantEnd()
	}
	for name, reply := range map[string][]byte{
		"a server of another version": frame(wire.TypeHello|wire.ReplyBit, 1, &wire.Welcome{Version: 9}),
		"a server that refuses":       frame(wire.TypeError, 0, &wire.Error{Code: wire.CodeVersion, Message: "no"}),
	} {
		path := filepath.Join(privateDir(t), "socket")
		l, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			c, err := l.Accept()
			if err == nil {
				_, _ = c.Write(reply)
				_, _ = io.Copy(io.Discard, c)
				c.Close()
			}
		}()
		if _, err := client.Dial(t.Context(), client.Options{Path: path}); !errors.Is(err, client.ErrVersion) {
			t.Errorf("%s: %v", name, err)
		}
		l.Close()
	}
}

// slow takes a while on a software driver, within its limit of loop iterations.
var slow = shader.MustSource("slow", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) restrict writeonly buffer Out { uint y[]; };
uniform uint turns;
void main() {
    uint v = gl_GlobalInvocationID.x;
    for (uint i = 0u; i < turns; i++) v = v * 1664525u + 1013904223u;
    y[gl_GlobalInvocationID.x] = v;
}`, nil)

// slowJob takes some milliseconds.
func (f *fixture) slowJob(p job.Program, groups uint32) *job.Job {
	turns := uint32(60_000)
	if !f.gpu.Context.Info().Software() {
		turns = 3_000_000
	}
	return &job.Job{
		Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{groups, 1, 1}, Uniforms: []job.Uniform{job.Uint("turns", turns)}},
		Outputs:  []job.Output{{Binding: 0, To: make([]byte, 256*groups)}},
	}
}

func TestDeadlinesAndCancels(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	p := program(t, c, slow)
	submit := func(ctx context.Context) job.Pending {
		pending, err := c.Submit(ctx, f.slowJob(p, 64))
		if err != nil {
			t.Fatal(err)
		}
		return pending
	}
	first := submit(t.Context())
	short, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	second, err := c.Submit(short, f.slowJob(p, 64))
	deadlines := uint64(0) // of the server: on a busy machine the context may have ended before
	if err == nil {
		deadlines, err = 1, second.Wait(t.Context())
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the deadline: %v", err)
	}
	third := submit(t.Context())
	third.Release()
	if err := third.Wait(t.Context()); !errors.Is(err, job.ErrReleased) {
		t.Error(err)
	}
	if err := first.Wait(t.Context()); err != nil {
		t.Error("the first job: ", err)
	}
	if err := run(t.Context(), c, program(t, c, affine), 1000, 3, 4); err != nil {
		t.Error(err)
	}
	if n := f.Status().Counters.Deadlines; n != deadlines {
		t.Errorf("the server answered %d deadlines", n)
	}
	eventually(t, "nothing unanswered", func() bool { return f.Status().Sessions[0].Unanswered == 0 })
}

// TestDeadlinesOneAfterTheOther has jobs behind one that takes longer than all of their
// deadlines, which do not pass in the order of the jobs.
func TestDeadlinesOneAfterTheOther(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	p := program(t, c, slow)
	first, err := c.Submit(t.Context(), f.slowJob(p, 128))
	if err != nil {
		t.Fatal(err)
	}
	var late []job.Pending
	for _, ms := range []time.Duration{40, 5, 60, 20} {
		ctx, cancel := context.WithTimeout(t.Context(), ms*time.Millisecond)
		defer cancel()
		pending, err := c.Submit(ctx, f.slowJob(p, 1))
		if err == nil {
			late = append(late, pending)
		} else if !errors.Is(err, context.DeadlineExceeded) { // passed already on a busy machine
			t.Fatal(err)
		}
	}
	for i, pending := range late {
		if err := pending.Wait(t.Context()); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("job %d: %v", i, err)
		}
	}
	if first.(*client.Pending).Done() == nil || f.Status().Sessions[0].Unanswered == 0 {
		t.Error("the first job was faster than a deadline")
	}
	if err := first.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRequestsKeepTheirOrder sends requests that depend on each other without waiting for
// replies: jobs, which the goroutine that reads them may perform, do not pass others.
func TestRequestsKeepTheirOrder(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Jobs: 2000}})
	r := f.raw()
	stream := append([]byte(nil), hello...)
	stream = append(stream, frame(wire.TypeProgram, 2, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())})...)
	const rounds = 500
	for i := range uint32(rounds) {
		at := uint64(10 * (i + 1))
		valid := validJob(64, 1)
		valid.In = nil
		valid.Buffers = []job.Bound{{Buffer: numbered{id: i + 1}, Size: 256, ReadOnly: true}}
		stream = append(stream, frame(wire.TypeBuffer, at, &wire.Buffer{ID: i + 1, Flags: wire.Create, Size: 256})...)
		stream = append(stream, frame(wire.TypeJob, at+1, valid)...)
		stream = append(stream, frame(wire.TypeRelease, at+2, &wire.Release{Kind: wire.KindBuffer, ID: i + 1})...)
		stream = append(stream, frame(wire.TypeJob, at+3, valid)...) // its buffer is gone
	}
	go func() { _ = r.Write(stream) }()
	answers := map[uint64]wire.Type{}
	for len(answers) < 2+4*rounds {
		h, _, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		answers[h.Request] = h.Type
	}
	for i := range uint64(rounds) {
		if at := 10 * (i + 1); answers[at+1] != wire.TypeJob|wire.ReplyBit || answers[at+3] != wire.TypeError {
			t.Fatalf("round %d: %v with its buffer, %v without", i, answers[at+1], answers[at+3])
		}
	}
}

// TestTooManyJobs sends more jobs than a session may have unanswered, which a client of
// this project does not.
func TestTooManyJobs(t *testing.T) {
	f := serve(t, server.Options{Limits: wire.Limits{Jobs: 2}})
	r := f.raw()
	stream := slicesConcat(hello, frame(wire.TypeProgram, 2, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("slow"), Text: []byte(slow.Text())}))
	for i := range uint64(4) {
		stream = append(stream, frame(wire.TypeJob, 10+i, &wire.Job{
			Out: []wire.Binding{{Operand: wire.Operand{Place: wire.PlaceInline, Size: 256 * 16}}},
			Job: job.Job{Dispatch: job.Dispatch{
				Program: rawProgram(1), Groups: [3]uint32{16, 1, 1}, Uniforms: []job.Uniform{job.Uint("turns", 1000)},
			}},
		})...)
	}
	if err := r.Write(stream); err != nil {
		t.Fatal(err)
	}
	codes := map[uint64]wire.Code{}
	for range 6 {
		h, body, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		var m wire.Error
		if h.Type == wire.TypeError {
			_ = wire.Decode(body, &m)
		}
		codes[h.Request] = m.Code
	}
	// The jobs come while the program is compiled, so that none is answered before.
	for request, want := range map[uint64]wire.Code{1: 0, 2: 0, 10: 0, 11: 0, 12: wire.CodeQuota, 13: wire.CodeQuota} {
		if codes[request] != want {
			t.Errorf("request %d: %v, want %v", request, codes[request], want)
		}
	}
}

// TestAGreedyClientLeavesTurns fills the server with jobs of one client. A job of another
// one is done long before them.
func TestAGreedyClientLeavesTurns(t *testing.T) {
	f := serve(t, server.Options{})
	greedy, modest := f.dial(), f.dial()
	p := program(t, greedy, slow)
	quick := program(t, modest, affine)
	var pending []job.Pending
	for range 100 {
		each, err := greedy.Submit(t.Context(), f.slowJob(p, 8))
		if err != nil {
			t.Fatal(err)
		}
		pending = append(pending, each)
	}
	if err := run(t.Context(), modest, quick, 1000, 3, 4); err != nil {
		t.Error(err)
	}
	done := 0
	for _, each := range pending {
		select {
		case <-each.(*client.Pending).Done():
			done++
		default:
		}
		each.Release()
	}
	if done > 50 {
		t.Errorf("%d of 100 jobs were done before that of another client", done)
	}
}

// TestJobsThatTakeLongTogether gives a server jobs that take longer than its hang time together,
// and each a small part of that: many of one client, also after short ones, and after short ones of the
// same program, and one each of many clients.
func TestJobsThatTakeLongTogether(t *testing.T) {
	const hang = 2 * time.Second // a job takes it where others have 39 of 40 parts of the machine
	f := serve(t, server.Options{HangTime: hang})
	c := f.dial()
	p := program(t, c, slow)
	groups, took := uint32(8), time.Duration(0)
	for ; took < hang/40; groups *= 2 {
		start := time.Now()
		if err := c.Run(t.Context(), f.slowJob(p, groups)); err != nil {
			t.Fatal(err)
		}
		took = time.Since(start)
	}
	n := int(3 * hang / 2 / took)
	var several []*client.Client
	for range n {
		several = append(several, f.dial())
	}
	quick := f.dial()
	for range 100 {
		if err := run(t.Context(), quick, program(t, quick, affine), 64, 3, 4); err != nil {
			t.Fatal(err)
		}
	}
	once := f.dial() // whose jobs were short at first: another value of a uniform makes them long
	for range 100 {
		j := f.slowJob(program(t, once, slow), groups/2)
		j.Uniforms = []job.Uniform{job.Uint("turns", 1)}
		if err := once.Run(t.Context(), j); err != nil {
			t.Fatal(err)
		}
	}
	for _, clients := range [][]*client.Client{{once}, {quick}, several} {
		var pending []job.Pending
		for i := range n {
			c := clients[i%len(clients)]
			each, err := c.Submit(t.Context(), f.slowJob(program(t, c, slow), groups/2))
			if err != nil {
				t.Fatal(err)
			}
			pending = append(pending, each)
		}
		for _, each := range pending {
			if err := each.Wait(t.Context()); err != nil {
				t.Fatalf("%d jobs of %v by %d clients: %v", n, took, len(clients), err)
			}
		}
	}
}

// TestAKernelBetweenTheHalvesOfACompile has a kernel begin that takes longer than the hang time, between
// the calls of the GPU's thread that compile a program: it is found as any other.
func TestAKernelBetweenTheHalvesOfACompile(t *testing.T) {
	f := serve(t, server.Options{HangTime: 2 * time.Second})
	c, jobs := f.dial(), f.dial()
	p := program(t, jobs, slow)
	const groups = 16
	j := f.slowJob(p, 1)
	j.Groups[1] = groups
	start := time.Now()
	if err := jobs.Run(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	j.Groups[1] = min(uint32(groups*6*time.Second/time.Since(start)), 1<<15)
	begun, free := make(chan struct{}), make(chan struct{})
	var between func(*glctx.GL)
	between = func(*glctx.GL) {
		if !f.gpu.Context.Compiling() {
			f.gpu.Context.Post(between)
			return
		}
		close(begun)
		<-free
	}
	f.gpu.Context.Post(between)
	asked := make(chan struct{})
	go func() {
		_, _ = c.Get(t.Context(), affine) // it may be lost with the server
		close(asked)
	}()
	<-begun
	pending, err := jobs.Submit(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	defer pending.Release()
	eventually(t, "the executor has the job", func() bool { return f.gpu.Executor.Queued() == 1 })
	close(free)
	if err := pending.Wait(t.Context()); err == nil {
		t.Fatal("the kernel was not found")
	}
	if err := <-f.done; !errors.As(err, new(*server.LostError)) {
		t.Error(err)
	}
	f.done <- nil // for the fixture
	<-asked
	eventually(t, "the sessions have ended", func() bool { return len(f.Status().Sessions) == 0 })
}

// envShort has this test binary run as one client of the server at that path: shortClient.
const envShort = "SHADERCACHE_SERVER_SHORT"

// TestClientsComeAndGo runs many short clients, 50 at once. Nothing of them is left, and the
// memory of the server does not grow. With $SHADERCACHE_SOAK they are 1,000 processes.
func TestClientsComeAndGo(t *testing.T) {
	f := serve(t, server.Options{})
	good := f.dial()
	program(t, good, affine)
	clients, one := 100, func(i int) error { return shortClient(t.Context(), f.path, uint32(i)) }
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		clients, one = 1000, func(int) error {
			cmd := exec.Command("/proc/self/exe")
			cmd.Env = append(cmd.Environ(), envShort+"="+f.path)
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w\n%s", err, out)
			}
			return err
		}
	}
	come := func(n int) {
		jobs := make(chan int)
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				for i := range jobs {
					if err := one(i); err != nil {
						t.Errorf("client %d: %v", i, err)
					}
				}
			})
		}
		for i := range n {
			jobs <- i
		}
		close(jobs)
		all.Wait()
		eventually(t, "one session", func() bool { return len(f.Status().Sessions) == 1 })
		runtime.GC()
	}
	come(clients / 5) // fills pools
	before, memory := f.left(), anonymous(t)
	come(clients - clients/5)
	eventually(t, "nothing left", func() bool { left := f.left(); left.files = min(left.files, before.files); return left == before })
	if s := f.Status(); s.Counters.Jobs != uint64(clients) || s.Counters.Failed != 0 || s.Cache.Compiles != 1 {
		t.Errorf("%+v", s.Counters)
	}
	grown := anonymous(t) - memory
	t.Logf("%d clients; %d KiB of memory before the last four fifths, %+d KiB after", clients, memory, grown)
	if clients == 1000 && grown > 8<<10 {
		t.Errorf("the server's memory grew by %d KiB", grown)
	}
}

// anonymous returns the KiB of memory of this process that no file has, when the garbage
// collector has given back what it can.
func anonymous(t testing.TB) int {
	t.Helper()
	debug.FreeOSMemory()
	return statusOf(t, "self", "RssAnon")
}

// statusOf returns a number of /proc/PID/status.
func statusOf(t testing.TB, pid, field string) int {
	t.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+field+":")
	var value int
	if _, err := fmt.Sscan(rest, &value); !found || err != nil {
		t.Fatalf("no %s of process %s: %v", field, pid, err)
	}
	return value
}

func shortClient(ctx context.Context, path string, seed uint32) error {
	c, err := client.Dial(ctx, client.Options{Path: path})
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer c.Close()
	p, err := c.Get(ctx, affine)
	if err != nil {
		return err
	}
	return run(ctx, c, p, 1024, 3, seed)
}

// TestNamesThatCannotBeSent has a client use names that the protocol does not have: the calls fail,
// or send another label, and the session goes on.
func TestNamesThatCannotBeSent(t *testing.T) {
	f := serve(t, server.Options{})
	for _, name := range []string{strings.Repeat("é", 200) + "e", "caf\xe9"} {
		dialed, err := client.Dial(t.Context(), client.Options{Path: f.path, Name: name})
		if err != nil {
			t.Fatalf("%.10q: %v", name, err)
		}
		defer dialed.Close()
		p := program(t, dialed, shader.NewFinalSource(name, affine.Text(), nil))
		j, _, _ := affineJob(p, 1, 1, 1)
		j.Uniforms[0].Name = name
		_, opened := dialed.OpenBuffer(t.Context(), name)
		_, near := client.Dial(t.Context(), client.Options{Path: f.path, Near: name})
		_, plan := dialed.OpenPlan(t.Context(), name, false, "gemm:2x2x2")
		for what, err := range map[string]error{
			"job": dialed.Run(t.Context(), j), "open": opened, "dial": near, "plan": plan,
			"delete": dialed.DeleteBuffer(t.Context(), name), "delete a plan": dialed.DeletePlan(t.Context(), name),
		} {
			if !errors.Is(err, job.ErrInvalid) {
				t.Errorf("%s %.10q: %v", what, name, err)
			}
		}
		if err := run(t.Context(), dialed, p, 64, 3, 4); err != nil {
			t.Errorf("after %.10q: %v", name, err)
		}
	}
}

// TestMemoryThatIsNotWaitedFor has calls for memory end while the server answers them: the
// session keeps nothing that the client does not have.
func TestMemoryThatIsNotWaitedFor(t *testing.T) {
	f := serve(t, server.Options{})
	c := f.dial()
	for i := range 600 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Microsecond/2)
		if m, err := c.NewMemory(ctx, 64); err == nil {
			m.Release()
		}
		cancel()
	}
	eventually(t, "no memory", func() bool { s := f.Status().Sessions[0]; return s.Objects == 0 && s.Bytes == 0 })
}

// TestNoProgressBesideACall has a program asked for that is known not to compile, which takes no
// call, while the GPU's thread is in one that does not end.
func TestNoProgressBesideACall(t *testing.T) {
	f := serve(t, server.Options{HangTime: time.Minute})
	c, other := f.dial(), f.dial()
	broken := shader.NewFinalSource("broken", "#version 450 core\nlayout(local_size_x = 1) in;\nvoid main() { nothing; }\n", nil)
	get := func() {
		if _, err := other.Get(t.Context(), broken); !errors.As(err, new(*shader.CompileError)) {
			t.Fatal(err)
		}
	}
	get()
	before, made := f.Progress(), make(chan error, 1)
	release := f.busyThread()
	go func() {
		_, err := c.NewBuffer(t.Context(), 64)
		made <- err
	}()
	eventually(t, "the buffer waits for the thread", func() bool { return !f.Progress().Equal(before) })
	before = f.Progress()
	get()
	if !f.Progress().Equal(before) {
		t.Error("it is progress")
	}
	release()
	if err := <-made; err != nil {
		t.Error(err)
	}
}

// TestNoProgressBesideAKernel has requests answered that need no GPU while a job runs there: none
// of them hides a kernel that does not end.
func TestNoProgressBesideAKernel(t *testing.T) {
	f := serve(t, server.Options{HangTime: time.Minute})
	c := f.dial()
	p := program(t, c, slow)
	pending, err := c.Submit(t.Context(), f.slowJob(p, 500))
	if err != nil {
		t.Fatal(err)
	}
	defer pending.Release()
	eventually(t, "the job runs", func() bool { return f.Status().Counters.Jobs == 1 })
	before := f.Progress()
	for what, do := range map[string]func() error{
		"a resident program": func() error { _, err := c.Get(t.Context(), slow); return err },
		"a refused job": func() error {
			_ = c.Run(t.Context(), &job.Job{Dispatch: job.Dispatch{Program: p}})
			return nil
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		select {
		case <-pending.(*client.Pending).Done():
			t.Fatal("the job is done: it has to be longer")
		default:
		}
		if !f.Progress().Equal(before) {
			t.Errorf("%s is progress", what)
		}
	}
}
