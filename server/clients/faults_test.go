//go:build linux

package clients_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server/internal/wire"
	"golang.org/x/sys/unix"
)

// fault is a server that breaks the protocol, and what each step of a client returns then.
type fault struct {
	name string
	peer peer
	want []string
}

var faults = []fault{
	{"none", honest, []string{"open", "load", "buffer", "run", "gemm", "status", "run"}},
	{"limits without bounds", patch(wire.TypeHello, 16+2+8+8+2+2+4+2+32, bytes.Repeat([]byte{0xFF}, 48)...), []string{"open", "load", "run", "status"}},
	{"garbage", bytesAt(wire.TypeHello, func([]byte) []byte { return bytes.Repeat([]byte{0xFF}, 64) }), []string{"open protocol", "load protocol"}},
	{"text", bytesAt(wire.TypeHello, func([]byte) []byte { return []byte("HTTP/1.1 400 Bad Request\r\n\r\n") }), []string{"open protocol"}},
	{"closed at once", at(wire.TypeHello, func(net.Conn, wire.Header, []byte) error { return errHangUp }), []string{"open closed", "load closed"}},
	{"half a header", cut(wire.TypeHello, 7), []string{"open closed"}},
	{"half a body", cut(wire.TypeHello, 40), []string{"open closed"}},
	{"half a reply", cut(wire.TypeJob, 100), []string{"open", "load", "run closed", "run closed"}},
	{"closed in a job", at(wire.TypeJob, func(net.Conn, wire.Header, []byte) error { return errHangUp }), []string{"open", "load", "run closed", "status closed"}},
	{"huge length", patch(wire.TypeJob, 0, 0xFF, 0xFF, 0xFF, 0xFF), []string{"open", "load", "run protocol", "status protocol"}},
	{"length above the limit", patch(wire.TypeJob, 0, 1, 0, 0x10, 0), []string{"open", "load", "run protocol"}},
	{"flags in a header", patch(wire.TypeProgram, 6, 1), []string{"open", "load protocol"}},
	{"unknown request", patch(wire.TypeJob, 8, 99), []string{"open", "load", "run protocol"}},
	{"request 0", patch(wire.TypeJob, 8, 0, 0, 0, 0, 0, 0, 0, 0), []string{"open", "load", "run protocol"}},
	{"reply of another type", patch(wire.TypeJob, 4, byte(wire.TypeStatus)), []string{"open", "load", "run protocol"}},
	{"reply of another type to a call", patch(wire.TypeProgram, 4, byte(wire.TypeStatus)), []string{"open", "load protocol"}},
	{"reply twice", bytesAt(wire.TypeProgram, func(b []byte) []byte { return append(b, b...) }), []string{"open", "load", "run protocol"}},
	{"welcome of another version", patch(wire.TypeHello, 16, wire.Version+1), []string{"open version", "load version"}},
	{"welcome that is short", resize(wire.TypeHello, -1), []string{"open protocol"}},
	{"welcome that is long", resize(wire.TypeHello, 1), []string{"open protocol"}},
	{"program reply that is short", resize(wire.TypeProgram, -1), []string{"open", "load protocol"}},
	{"program reply with many resources", patch(wire.TypeProgram, 16+32+1+12, 0xFF, 0xFF), []string{"open", "load protocol"}},
	{"buffer reply with another flag", patch(wire.TypeBuffer, 16+16, 2), []string{"open", "buffer protocol"}},
	{"buffer reply of another size", patch(wire.TypeBuffer, 16, 0, 0, 0, 0, 0, 0, 0, 0x80), []string{"open", "buffer protocol"}},
	{"plan reply with a huge text", patch(wire.TypePlan, 16+42, 0xFF, 0xFF, 0xFF, 0xFF), []string{"open", "gemm protocol"}},
	{"status with a huge text", patch(wire.TypeStatus, 16, 0xFF, 0xFF, 0xFF, 0xFF), []string{"open", "status protocol"}},
	{"outputs too short", messageAt(wire.TypeJob, &wire.Data{Data: make([]byte, 4092)}), []string{"open", "load", "run protocol"}},
	{"outputs too long", messageAt(wire.TypeJob, &wire.Data{Data: make([]byte, 4100)}), []string{"open", "load", "run protocol"}},
	{"bytes of a copy too few", messageAt(wire.TypeCopy, &wire.CopyReply{Version: 2, Data: make([]byte, 4095)}), []string{"open", "buffer", "read protocol", "status protocol"}},
	{"bytes of a copy too many", messageAt(wire.TypeCopy, &wire.CopyReply{Version: 2, Data: make([]byte, 4097)}), []string{"open", "buffer", "read protocol"}},
	{"bytes of a copy that asked for none", messageAt(wire.TypeCopy, &wire.CopyReply{Version: 2, Data: make([]byte, 4)}), []string{"open", "buffer", "write protocol"}},
	// Memory is wrong, as the peer has none.
	{"what waits for a compile", slowly(wire.TypeProgram, wire.TypeMemory, wire.TypeBuffer, wire.TypePlan, wire.TypeTexture), []string{"open", "hasty", "load", "buffer", "texture", "gemm", "memory wrong"}},
	{"outputs beyond the body", patch(wire.TypeJob, 16, 0xFF, 0xFF, 0xFF, 0x7F), []string{"open", "load", "run protocol"}},
	{"error without a code", errorAt(wire.TypeJob, &wire.Error{}), []string{"open", "load", "run protocol"}},
	{"error of a later version", errorAt(wire.TypeJob, &wire.Error{Code: 99, Message: "new"}), []string{"open", "load", "run unknown", "status"}},
	{"error that is not UTF-8", errorAt(wire.TypeJob, &wire.Error{Code: wire.CodeInvalid, Message: "\xff\x00\x1b"}), []string{"open", "load", "run invalid", "status"}},
	{"error as answer to a call", errorAt(wire.TypeProgram, &wire.Error{Code: wire.CodeCompile, Message: "log"}), []string{"open", "load compile", "status"}},
	{"version of the client is refused", errorAt(wire.TypeHello, &wire.Error{Code: wire.CodeVersion, Message: "old"}), []string{"open version", "load version"}},
	{"too many sessions", sessionError(wire.TypeHello, wire.CodeQuota), []string{"open quota", "load quota"}},
	{"lost in a job", sessionError(wire.TypeJob, wire.CodeLost), []string{"open", "load", "run lost", "status lost"}},
	{"lost as answer", errorAt(wire.TypeJob, &wire.Error{Code: wire.CodeLost}), []string{"open", "load", "run lost", "load lost"}},
	{"draining", errorAt(wire.TypeJob, &wire.Error{Code: wire.CodeDraining}), []string{"open", "load", "run draining", "status"}},
	{"no answer to a call", at(wire.TypeStatus, func(net.Conn, wire.Header, []byte) error { return nil }), []string{"open", "impatient", "status timeout", "load timeout"}},
	{"no answer to what does not compile", at(wire.TypeDelete, func(net.Conn, wire.Header, []byte) error { return nil }), []string{"open", "hasty", "delete timeout"}},
	{"byte by byte", drip(0), []string{"open", "load", "gemm", "status"}},
	{"it goes on", goesOn, []string{"open", "load", "run", "gemm", "status"}},
	{"it goes on for long", at(wire.TypeJob, goesOnForLong), []string{"open", "load", "status", "impatient", "late"}},
	{"half of a reply, and the rest", at(wire.TypeJob, inHalves), []string{"open", "load", "late", "status"}},
	{"descriptors with each answer", drip(1), []string{"open", "load", "run", "gemm", "status"}},
}

// Whatever a server sends, a client returns a typed error or the right result.
func TestServersThatBreakTheProtocol(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, _ string, check []string) {
		for _, f := range faults {
			t.Run(f.name, func(t *testing.T) {
				steps(t, check, fakeServer(t, f.peer), append([]string(nil), f.want...)...)
			})
		}
	})
}

// cut answers with the first n bytes and hangs up.
func cut(typ wire.Type, n int) peer {
	return at(typ, func(conn net.Conn, _ wire.Header, right []byte) error {
		conn.Write(right[:n])
		return errHangUp
	})
}

// patch answers with other bytes at an offset of the frame, and keeps the connection.
func patch(typ wire.Type, offset int, with ...byte) peer {
	return bytesAt(typ, func(right []byte) []byte {
		copy(right[offset:], with)
		return right
	})
}

// resize answers with a body that is longer or shorter by n bytes, in a frame that fits it.
func resize(typ wire.Type, n int) peer {
	return bytesAt(typ, func(right []byte) []byte {
		right = append(right, 0)[:len(right)+n]
		binary.LittleEndian.PutUint32(right, uint32(len(right)-wire.HeaderSize))
		return right
	})
}

// slowly answers some types after a second.
func slowly(types ...wire.Type) peer {
	return func(_ net.Conn, h wire.Header, _ []byte) (bool, error) {
		if slices.Contains(types, h.Type) {
			time.Sleep(time.Second)
		}
		return false, nil
	}
}

// sessionError ends the session by an error for request 0.
func sessionError(typ wire.Type, code wire.Code) peer {
	return at(typ, func(conn net.Conn, _ wire.Header, _ []byte) error {
		send(conn, wire.TypeError, 0, &wire.Error{Code: code, Message: "the session ends", Hint: "as it has to"})
		return errHangUp
	})
}

// drip answers in pieces: single bytes, or the whole frame with open files.
func drip(files int) peer {
	return func(conn net.Conn, _ wire.Header, right []byte) (bool, error) {
		if files > 0 {
			_, _, err := conn.(*net.UnixConn).WriteMsgUnix(right, syscall.UnixRights(0, 1, 2), nil)
			return true, err
		}
		for i := range min(len(right), 200) {
			if _, err := conn.Write(right[i : i+1]); err != nil {
				return true, err
			}
		}
		_, err := conn.Write(right[min(len(right), 200):])
		return true, err
	}
}

// goesOn says before each answer that the server goes on, as one does that reads no more for now.
func goesOn(conn net.Conn, h wire.Header, right []byte) (bool, error) {
	if h.Type == wire.TypeHello {
		return false, nil
	}
	wake, _ := wire.AppendFrame(nil, wire.TypeWake, 0, &wire.Empty{})
	_, err := conn.Write(append(append(wake, wake...), right...))
	return true, err
}

// goesOnForLong says that the server goes on, and answers later.
func goesOnForLong(conn net.Conn, _ wire.Header, right []byte) error {
	wake, _ := wire.AppendFrame(nil, wire.TypeWake, 0, &wire.Empty{})
	return withPause(conn, wake, right)
}

// inHalves answers as a server does whose client reads faster than it writes.
func inHalves(conn net.Conn, _ wire.Header, right []byte) error {
	return withPause(conn, right[:len(right)/2], right[len(right)/2:])
}

func withPause(conn net.Conn, first, second []byte) error {
	if _, err := conn.Write(first); err != nil {
		return err
	}
	time.Sleep(300 * time.Millisecond)
	_, err := conn.Write(second)
	return err
}

// A server that has stopped costs a job its deadline and five seconds.
func TestServersThatStop(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, _ string, check []string) {
		silent := at(wire.TypeJob, func(net.Conn, wire.Header, []byte) error { return nil })
		start := time.Now()
		steps(t, check, fakeServer(t, silent), "open", "load", "deadline timeout", "status timeout")
		if took := time.Since(start); took < 5*time.Second {
			t.Errorf("gave up after %v", took)
		}
	})
}

// A program whose wait a signal has ended in Python holds up no later call: it is cancelled.
func TestPythonCancelsWhatItLeaves(t *testing.T) {
	t.Parallel()
	programs, err := checks()
	if err != nil {
		t.Fatal(err)
	}
	var compiles uint64 // the request; nothing is answered until it is cancelled
	path := fakeServer(t, func(conn net.Conn, h wire.Header, _ []byte) (bool, error) {
		switch h.Type {
		case wire.TypeProgram:
			compiles = h.Request
		case wire.TypeCancel:
			err := send(conn, wire.TypeError, compiles, &wire.Error{Code: wire.CodeCancelled})
			compiles = 0
			return false, err
		}
		return compiles != 0, nil
	})
	steps(t, programs["python"], path, "open", "abandoned", "status")
}

// Answers with bytes that are flipped, cut off or left out do not crash a client in 300
// sessions; with $SHADERCACHE_SOAK in 30,000, other ones each time.
func TestAnswersWithFlippedBytes(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, _ string, check []string) {
		var seed atomic.Uint64
		rounds := []string{"again"}
		if os.Getenv("SHADERCACHE_SOAK") != "" {
			seed.Store(rand.Uint64())
			rounds = slices.Repeat(rounds, 100)
			t.Logf("seed %d", seed.Load())
		}
		mutant := func(conn net.Conn, h wire.Header, right []byte) (bool, error) {
			random := rand.New(rand.NewPCG(seed.Add(1), 1))
			if random.IntN(3) > 0 {
				return false, nil
			}
			for range 1 + random.IntN(3) {
				right[random.IntN(min(len(right), 150))] = byte(random.Uint32())
			}
			conn.Write(right[:len(right)-random.IntN(2)*random.IntN(len(right))])
			return true, conn.(*net.UnixConn).CloseWrite()
		}
		steps(t, check, fakeServer(t, mutant), rounds...)
	})
}

// Each place of the socket that cannot be used is an error with a hint, not a hang.
func TestPlacesWithoutAServer(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, _ string, check []string) {
		dir := t.TempDir()
		file := filepath.Join(dir, "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		stale := socketPath(t)
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		l.Close()
		for path, want := range map[string]string{
			filepath.Join(dir, "nothing"):    "open no server",
			dir:                              "open no server",
			file:                             "open no server",
			stale:                            "open no server",
			"/" + strings.Repeat("long", 50): "open usage",
			"relative":                       "open usage",
			"auto":                           "open usage",
		} {
			steps(t, check, path, want)
		}
	})
}

// A socket whose queue is full for a while, as in a burst of clients, is waited for.
func TestAFullQueue(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, _ string, check []string) {
		path := socketPath(t)
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err == nil {
			err = errors.Join(unix.Bind(fd, &unix.SockaddrUnix{Name: path}), unix.Listen(fd, 0))
		}
		if err != nil {
			t.Fatal(err)
		}
		f := os.NewFile(uintptr(fd), path)
		defer f.Close()
		l, err := net.FileListener(f)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		first, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer first.Close()
		time.AfterFunc(300*time.Millisecond, func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go converse(conn, honest)
			}
		})
		steps(t, check, path, "open")
	})
}

// The default place is that of docs/protocol.md.
func TestDefaultPlace(t *testing.T) {
	languages(t, func(t *testing.T, _ string, check []string) {
		path := fakeServer(t, honest)
		runtime := t.TempDir()
		if err := os.Mkdir(filepath.Join(runtime, "shadercache"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(runtime, "shadercache", "socket")); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ server, runtime, want string }{
			{path, "", "open ok"},
			{path, "/nonexistent", "open ok"},
			{"", runtime, "open ok"},
			{"auto", runtime, "open ok"},
			{"start", runtime, "open ok"},
			{"off", runtime, "open no server"},
			{"", "/nonexistent", "open no server"},
			{"relative", runtime, "open usage"},
		} {
			got := run(t, append([]string{"env", "SHADERCACHE_SERVER=" + c.server, "XDG_RUNTIME_DIR=" + c.runtime}, check...), "", "open")
			if strings.Join(got, "") != c.want {
				t.Errorf("SHADERCACHE_SERVER=%s XDG_RUNTIME_DIR=%s: %s, want %s", c.server, c.runtime, got, c.want)
			}
		}
	})
}

// Every user can make the directory below /tmp: it counts only where it is the user's alone.
func TestDefaultDirectoryHasToBePrivate(t *testing.T) {
	languages(t, func(t *testing.T, _ string, check []string) {
		dir := func(name string, mode os.FileMode) string {
			path := filepath.Join(t.TempDir(), name)
			if err := errors.Join(os.Mkdir(path, mode), os.Chmod(path, mode)); err != nil {
				t.Fatal(err)
			}
			return path
		}
		private, foreign := dir("private", 0o700), dir("foreign", 0o700)
		link, file := filepath.Join(t.TempDir(), "link"), filepath.Join(t.TempDir(), "file")
		if err := errors.Join(os.Symlink(private, link), os.WriteFile(file, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{
			private: "directory ok", link: "directory no server", file: "directory no server",
			dir("group", 0o750): "directory no server", dir("others", 0o701): "directory no server",
			filepath.Join(private, "nothing"): "directory no server",
		}
		if os.Getuid() == 0 {
			if err := os.Chown(foreign, 65534, 65534); err != nil {
				t.Fatal(err)
			}
			want[foreign] = "directory no server"
		}
		for path, result := range want {
			steps(t, check, path, result)
		}
	})
}
