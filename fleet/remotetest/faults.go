package remotetest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/servers"
)

// User and Password are the credentials that tests of faults use. No error may have the
// password.
const (
	User     = "tester"
	Password = "swordfish-77"
)

// callTime is the time that a call to a server without an answer has. returnTime is far
// above it, and far below what a client without a context would wait.
const (
	callTime   = 200 * time.Millisecond
	returnTime = 10 * time.Second
)

type answer func(c net.Conn, r *http.Request, ended <-chan struct{})

// fault is an answer that no store gives, and the error that it has to become.
type fault struct {
	name   string
	answer answer
	want   error
}

// raw answers with a status line and headers, without a body.
func raw(status string, headers ...string) answer {
	return text("HTTP/1.1 " + status + "\r\nConnection: close\r\nContent-Length: 0\r\n" + lines(headers))
}

func lines(headers []string) string { return strings.Join(append(headers, "\r\n"), "\r\n") }

func text(s string) answer {
	return func(c net.Conn, _ *http.Request, _ <-chan struct{}) { io.WriteString(c, s) }
}

// object is the start of an answer that all clients take for that of an object.
const object = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nETag: \"a\"\r\n" +
	"Last-Modified: Sat, 14 Mar 2026 15:09:26 GMT\r\n"

// drip sends a text, then a byte every few milliseconds.
func drip(s string) answer {
	return func(c net.Conn, _ *http.Request, ended <-chan struct{}) {
		io.WriteString(c, s)
		for {
			select {
			case <-ended:
				return
			case <-time.After(10 * time.Millisecond):
				io.WriteString(c, "x")
			}
		}
	}
}

func silent(_ net.Conn, _ *http.Request, ended <-chan struct{}) { <-ended }

// echo answers with the credentials of the request, where a client shows them in an error.
func echo(c net.Conn, r *http.Request, _ <-chan struct{}) {
	fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%s and no colon\r\n\r\n", r.Header.Get("Authorization"))
}

const page = "<html><body>Log in to this network</body></html>"

var faults = []fault{
	{"Unauthorized", raw("401 Unauthorized"), fleet.ErrDenied},
	{"Forbidden", raw("403 Forbidden"), fleet.ErrDenied},
	{"NotFound", raw("404 Not Found"), fleet.ErrNotFound},
	{"Changed", raw("412 Precondition Failed"), fleet.ErrChanged},
	{"Busy", raw("429 Too Many Requests", "Retry-After: 7"), fleet.ErrBusy},
	{"Unavailable", raw("503 Service Unavailable", "Retry-After: Fri, 31 Dec 2049 23:59:59 GMT"), fleet.ErrBusy},
	{"ServerError", raw("500 Internal Server Error"), fleet.ErrUnreachable},
	{"BadGateway", raw("502 Bad Gateway"), fleet.ErrUnreachable},
	{"Teapot", raw("418 " + Password), fleet.ErrProtocol},
	{"OtherHost", raw("302 Found", "Location: http://"+elsewhere+"/?"+Password), fleet.ErrProtocol},
	{"Captive", text("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: text/html; charset=utf-8\r\n\r\n" + page), fleet.ErrProtocol},
	{"Length", text(object + "Content-Length: many\r\n\r\nbytes"), fleet.ErrProtocol},
	{"TwoLengths", text(object + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nbytes."), fleet.ErrProtocol},
	{"OtherProtocol", text("SSH-2.0-OpenSSH_9.2p1\r\n"), fleet.ErrProtocol},
	{"HugeHeader", text(object + "X-Large: " + strings.Repeat("x", 200<<10) + "\r\n\r\n"), fleet.ErrProtocol},
	{"Echo", echo, fleet.ErrProtocol},
	{"NoAnswer", text(""), fleet.ErrUnreachable},
	{"HalfHeader", text("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"), fleet.ErrUnreachable},
	{"HalfBody", text(object + "Content-Length: 1000\r\n\r\nhalf"), fleet.ErrUnreachable},
	{"BodyToTheClose", text(strings.Replace(object, "1.1", "1.0", 1) + "\r\nhalf"), fleet.ErrProtocol},
	{"Silent", silent, fleet.ErrUnreachable},
	{"SlowHeader", drip("HTTP/1.1 200 OK\r\nX-Slow: "), fleet.ErrUnreachable},
	{"SlowBody", drip(object + "Content-Length: 1000000\r\n\r\n"), fleet.ErrUnreachable},
}

// elsewhere is a place where no server is, of another host than the tests' servers.
const elsewhere = "127.0.0.2:9"

// Faults runs each fault against a backend, which open opens for an address with plain
// HTTP, User and Password. redirected is the error of a Get that is redirected to another
// host. It counts goroutines, so it must not run in parallel.
func Faults(t *testing.T, redirected error, open func(t *testing.T, address string) fleet.Backend) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			server := servers.StartLiar(t, f.answer)
			before := runtime.NumGoroutine()
			b := open(t, server.Address)
			get := f
			if f.name == "OtherHost" {
				get.want = redirected
			}
			read := get.check(t, "get", func(ctx context.Context) error { return readPack(ctx, b) })
			if errors.Is(read, fleet.ErrBusy) {
				checkWait(t, read)
			}
			if !strings.Contains(f.name, "Body") { // which a writer does not read
				f.check(t, "put", func(ctx context.Context) error { return writePack(ctx, b) })
			}
			f.others(t, b)
			b.Close()
			ends(t, before, server)
		})
	}
	t.Run("NoServer", func(t *testing.T) { noServer(t, open) })
	t.Run("NoName", func(t *testing.T) {
		f := fault{want: fleet.ErrUnreachable}
		b := open(t, "no-such-host.invalid:80")
		f.check(t, "get", func(ctx context.Context) error { return readPack(ctx, b) })
	})
}

func noServer(t *testing.T, open func(t *testing.T, address string) fleet.Backend) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	f := fault{want: fleet.ErrUnreachable}
	b := open(t, address)
	f.check(t, "get", func(ctx context.Context) error { return readPack(ctx, b) })
	f.check(t, "put", func(ctx context.Context) error { return writePack(ctx, b) })
}

// check calls a method with little time, and checks its error.
func (f fault) check(t *testing.T, what string, call func(context.Context) error) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), f.time())
	defer cancel()
	began := time.Now()
	err := call(ctx)
	if took := time.Since(began); took > returnTime {
		t.Errorf("%s returned after %v", what, took)
	}
	if f.want != nil && !errors.Is(err, f.want) {
		t.Errorf("%s: %v, not %v", what, err, f.want)
	}
	if err != nil {
		checkText(t, what, err)
	}
	return err
}

// time returns that of a call: little where only the context ends it.
func (f fault) time() time.Duration {
	if f.name == "Silent" || strings.HasPrefix(f.name, "Slow") {
		return callTime
	}
	return returnTime
}

// others calls the methods whose error may be any, or none.
func (f fault) others(t *testing.T, b fleet.Backend) {
	f.want = nil
	f.check(t, "connect", b.Connect)
	f.check(t, "delete", func(ctx context.Context) error { return b.Delete(ctx, lease) })
	f.check(t, "list", func(ctx context.Context) error { _, err := b.List(ctx, "v1/"); return err })
	f.check(t, "abilities", func(ctx context.Context) error { _, err := b.Abilities(ctx); return err })
}

var faultPack = []byte("a pack that no faulty store has")

func readPack(ctx context.Context, b fleet.Backend) error {
	o, err := b.Get(ctx, packName(faultPack), 0)
	if err != nil {
		return err
	}
	defer o.Body.Close()
	_, err = io.ReadAll(o.Body)
	return err
}

func writePack(ctx context.Context, b fleet.Backend) error {
	_, err := b.Put(ctx, packName(faultPack), bytes.NewReader(faultPack), fleet.PutOptions{Size: int64(len(faultPack))})
	return err
}

// checkText refuses an error with credentials, or with more than a line or two.
func checkText(t *testing.T, what string, err error) {
	t.Helper()
	basic := base64.StdEncoding.EncodeToString([]byte(User + ":" + Password))
	if text := err.Error(); strings.Contains(text, Password) || strings.Contains(text, basic) || len(text) > 800 {
		t.Errorf("%s: the error has the password, or is long: %.2000s", what, text)
	}
}

func checkWait(t *testing.T, err error) {
	t.Helper()
	busy, ok := errors.AsType[*fleet.BusyError](err)
	if !ok || busy.RetryAfter != 7*time.Second && busy.RetryAfter != 24*time.Hour {
		t.Errorf("busy for %+v, not 7 s or a day", busy)
	}
}

// ends waits until no goroutine and no connection of a backend is left.
func ends(t *testing.T, before int, server *servers.Liar) {
	t.Helper()
	for deadline := time.Now().Add(returnTime); ; time.Sleep(5 * time.Millisecond) {
		open, now := server.Open(), runtime.NumGoroutine()
		if open == 0 && now <= before {
			return
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 64<<10)
			t.Fatalf("%d connections and %d goroutines are left, of %d:\n%s", open, now, before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
