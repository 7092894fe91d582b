//go:build linux

package server_test

import (
	"errors"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// heldNames has the first request for a named buffer wait, until the test releases it.
type heldNames struct {
	asked, held chan struct{}
	release     func()
}

func holdNames() heldNames {
	held := make(chan struct{})
	return heldNames{make(chan struct{}, 1), held, sync.OnceFunc(func() { close(held) })}
}

func (h heldNames) Claim(string) (int, error) {
	h.asked <- struct{}{}
	<-h.held
	return -1, nil
}
func (heldNames) Find(string) (int, error) { return -1, nil }
func (heldNames) Drop(string)              {}

// held is a session whose queue waits behind its first request.
func (f *fixture) held(names heldNames) *raw {
	f.t.Cleanup(names.release) // before the server stops
	r := f.rawSession()
	r.send(frame(wire.TypeBuffer, 2, &wire.Buffer{ID: 1, Flags: wire.Create, Size: 64, Name: []byte("held")}))
	<-names.asked
	return r
}

// TestAClientThatEndsBehindItsQueue sends more than the server reads ahead, and ends: what is
// queued is not done for nobody.
func TestAClientThatEndsBehindItsQueue(t *testing.T) {
	names := holdNames()
	f := serve(t, server.Options{Names: names, Limits: wire.Limits{Deadline: uint64(time.Hour)}})
	r := f.held(names)
	r.send(
		frame(wire.TypeProgram, 3, &wire.Program{ID: 1, Form: wire.FormFinal, Name: []byte("affine"), Text: []byte(affine.Text())}),
		frame(wire.TypeJob, 4, validJob(64, 1)),
	)
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := uint64(0); ; i++ {
			if err := r.Write(frame(wire.TypeStatus, 10+i, &wire.Empty{})); err != nil {
				return
			}
		}
	})
	eventually(t, "a full queue", func() bool { return f.Status().Counters.Requests > wire.MaxTasks })
	open := openFiles(t)
	r.Close()
	writing.Wait()
	eventually(t, "both ends closed", func() bool { return openFiles(t) <= open-2 })
	names.release()
	eventually(t, "no session", func() bool { return len(f.Status().Sessions) == 0 })
	if s := f.Status(); s.Counters.Jobs != 0 || s.Cache.Compiles != 0 {
		t.Errorf("%d jobs, %d programs of a client that has ended", s.Counters.Jobs, s.Cache.Compiles)
	}
}

// TestDescriptorsInTheQueue sends many, of which few are open at a time. The server reads no cancel
// then, and says that it goes on.
func TestDescriptorsInTheQueue(t *testing.T) {
	names := holdNames()
	f := serve(t, server.Options{Names: names})
	r := f.held(names)
	file, _ := rawMemory(t, 4096)
	const sent = 500
	var writing sync.WaitGroup
	open := openFiles(t)
	writing.Go(func() {
		for i := uint64(0); i < sent; i++ {
			if err := r.Write(frame(wire.TypeMemory, 10+i, &wire.Memory{ID: uint32(i), Size: 4096}), file); err != nil {
				t.Error(err)
			}
		}
	})
	eventually(t, "a full queue", func() bool { return f.Status().Counters.Requests >= 60 })
	for before := uint64(0); before != f.Status().Counters.Requests; time.Sleep(100 * time.Millisecond) {
		before = f.Status().Counters.Requests // without a limit it comes to the last one
	}
	if n := openFiles(t) - open; n > 100 {
		t.Errorf("%d descriptors of one client are open", n)
	}
	r.want(wire.TypeWake, 0)
	names.release()
	for request, a := range r.answers(1 + sent) {
		if a.Type == wire.TypeError {
			t.Errorf("request %d: %v", request, a.Code)
		}
	}
	writing.Wait()
	eventually(t, "all are closed", func() bool { return openFiles(t) <= open })
}

// TestCancelsBehindAFullQueue cancels what waits, again and again: it takes nothing of what the
// server reads ahead, and each cancel is read. So it goes with deadlines.
func TestCancelsBehindAFullQueue(t *testing.T) {
	names := holdNames()
	f := serve(t, server.Options{Names: names})
	r := f.held(names)
	file, _ := rawMemory(t, 4096)
	open := openFiles(t)
	large := validJob(64, 1)
	large.Out = append(large.Out, wire.Binding{Binding: 9, Operand: wire.Operand{Place: wire.PlaceInline}})
	large.In = append(large.In, wire.Binding{Binding: 8, Operand: wire.Operand{Place: wire.PlaceInline, Data: make([]byte, wire.MaxBody/5)}})
	for i := uint64(10); i < 270; i += 4 {
		r.send(frame(wire.TypeJob, i, large), frame(wire.TypeCancel, i+1, &wire.Cancel{Request: i}))
		r.wantError(i, wire.CodeCancelled)
		r.want(wire.TypeCancel|wire.ReplyBit, i+1)
		if err := r.Write(frame(wire.TypeMemory, i+2, &wire.Memory{ID: 1, Size: 4096}), file); err != nil {
			t.Fatal(err)
		}
		r.send(frame(wire.TypeCancel, i+3, &wire.Cancel{Request: i + 2}))
		r.wantError(i+2, wire.CodeCancelled)
		r.want(wire.TypeCancel|wire.ReplyBit, i+3)
	}
	large.Deadline = uint64(time.Millisecond)
	for i := uint64(1000); i < 1050; i++ {
		r.send(frame(wire.TypeJob, i, large))
		r.wantError(i, wire.CodeDeadline)
	}
	eventually(t, "closed files", func() bool { return openFiles(t) <= open })
	names.release()
	r.want(wire.TypeBuffer|wire.ReplyBit, 2)
	r.share(2000, 1, 4096) // the id is free
}

// lingering returns sockets whose last close waits for their peers, which read nothing. Their
// ends are closed with the test.
func lingering(t *testing.T, n int) (files []*os.File) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	fill := func(fd int) (err error) {
		if err = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 600}); err != nil {
			return err
		}
		for err = unix.SetNonblock(fd, true); err == nil; {
			_, err = unix.Write(fd, make([]byte, 64<<10))
		}
		return unix.SetNonblock(fd, false)
	}
	for i := range n {
		ours, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		theirs, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { theirs.Close() }) // ends the wait
		_ = ours.(*net.TCPConn).SetWriteBuffer(1)
		_ = theirs.(*net.TCPConn).SetReadBuffer(1)
		file, err := ours.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		ours.Close()
		if err := control(file, fill); err != nil {
			t.Fatal(err)
		}
		if i%2 == 1 {
			file = within(t, file)
		}
		files = append(files, file)
	}
	return files
}

// within returns a socket in whose queue the only copy of a file is.
func within(t *testing.T, file *os.File) *os.File {
	t.Helper()
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer unix.Close(ends[0])
	err = control(file, func(fd int) error { return unix.Sendmsg(ends[0], []byte{0}, unix.UnixRights(fd), nil, 0) })
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(ends[1]), "queue")
}

// TestADescriptorThatLingers sends sockets whose close waits: the session goes on, and the
// server has no thread for each of them, and closes them all.
func TestADescriptorThatLingers(t *testing.T) {
	names := holdNames()
	f := serve(t, server.Options{Names: names})
	files := lingering(t, 200)
	open := openFiles(t)
	r := f.held(names)
	if err := errors.Join(r.Write(frame(wire.TypeMemory, 3, &wire.Memory{ID: 1, Size: 4096}), files[0]), files[0].Close()); err != nil {
		t.Fatal(err)
	}
	names.release() // the server's copy is the last one
	r.want(wire.TypeBuffer|wire.ReplyBit, 2)
	r.wantError(3, wire.CodeInvalid)
	threads := statusOf(t, "self", "Threads")
	for i, file := range files[1:] {
		if err := r.Write(frame(wire.TypeMemory, uint64(4+i), &wire.Memory{ID: 1, Size: 4096}), file); err != nil {
			t.Fatal(err)
		}
		go file.Close() // waits where the server was faster
		r.wantError(uint64(4+i), wire.CodeInvalid)
	}
	r.share(1000, 2, 4096)
	if n := statusOf(t, "self", "Threads"); n > threads+100 {
		t.Errorf("%d threads close descriptors", n-threads)
	}
	eventually(t, "all are closed", func() bool { return openFiles(t) <= open-len(files)+10 })
}

// TestSessionsOfLingeringDescriptors sends such sockets where no request has descriptors, before
// and after the hello, more than a frame may have, and such that are never read: the connections
// end, whatever the last close of each waits for.
func TestSessionsOfLingeringDescriptors(t *testing.T) {
	f := serve(t, server.Options{})
	const rounds = 12
	files := lingering(t, 6*rounds)
	extra, _ := rawMemory(t, 4096)
	status := frame(wire.TypeStatus, 9, &wire.Empty{})
	malformed := append(frame(wire.TypeStatus, 9, &wire.Empty{}), make([]byte, wire.HeaderSize)...)
	var all []*raw
	for range rounds {
		for _, attack := range []func(*raw, *os.File) error{
			func(r *raw, file *os.File) error { return r.Write(hello, file) },
			func(r *raw, file *os.File) error { return r.Write(hello[:5], extra, extra, file) },
			func(r *raw, file *os.File) error { return errors.Join(r.Write(hello), r.Write(status, file)) },
			func(r *raw, file *os.File) error {
				return errors.Join(r.Write(hello), r.Write(status, extra, extra, extra, file))
			},
			func(r *raw, file *os.File) error {
				return errors.Join(r.Write(malformed), r.Write(status, extra, file))
			},
			func(r *raw, file *os.File) error {
				return errors.Join(r.Write(hello), r.Write(malformed), r.Write(status, file))
			},
		} {
			r := f.raw()
			_ = attack(r, files[0]) // the server may close the connection meanwhile
			go files[0].Close()     // waits where the server was faster
			files = files[1:]
			all = append(all, r)
		}
	}
	for _, r := range all {
		var err error
		for err == nil {
			_, _, err = r.Next()
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("a connection does not end")
		}
	}
	eventually(t, "the sessions end", func() bool { return len(f.Status().Sessions) == 0 })
	good := f.dial()
	if err := run(t.Context(), good, program(t, good, affine), 1000, 3, 4); err != nil {
		t.Error(err)
	}
}

// TestCancelsThatAreNotRead sends them without reading a reply: the server stops reading, and
// does not keep the replies of all.
func TestCancelsThatAreNotRead(t *testing.T) {
	f := serve(t, server.Options{ReadTime: time.Hour})
	r := f.rawSession()
	const sent = 600_000
	var writing sync.WaitGroup
	writing.Go(func() {
		many := make([]byte, 0, 24*1000)
		for i := range uint64(1000) {
			many = append(many, frame(wire.TypeCancel, 2+i, &wire.Cancel{Request: 1})...)
		}
		for range sent / 1000 {
			if err := r.Write(many); err != nil {
				return
			}
		}
	})
	eventually(t, "a full outbox", func() bool { return f.Status().Counters.Requests > 200_000 })
	for before := uint64(0); before != f.Status().Counters.Requests; time.Sleep(100 * time.Millisecond) {
		before = f.Status().Counters.Requests // without a limit it comes to the last one
	}
	if n := f.Status().Counters.Requests; n >= sent {
		t.Errorf("%d requests were answered to a client that reads nothing", n)
	}
	r.Close()
	writing.Wait()
	eventually(t, "its session ended", func() bool { return len(f.Status().Sessions) == 0 })
}
