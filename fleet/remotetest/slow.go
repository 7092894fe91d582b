package remotetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/servers"
)

// Slow runs each command against stores that never come to an end. url returns the URL of a
// store at an address, and page an endless listing: the n-th page, which names the next one.
func Slow(t *testing.T, url func(address string) string, page func(n int) string) {
	t.Run("slow pages", func(t *testing.T) { slowPages(t, url, page) })
	for name, c := range map[string]struct {
		answer answer
		says   string
	}{
		"silence":       {silent, "was waited for"},
		"slow header":   {drip("HTTP/1.1 200 OK\r\nX-Long: "), "was waited for"},
		"slow body":     {spaces(1, 10*time.Millisecond), "was waited for"},
		"endless body":  {spaces(1<<20, 0), ""}, // what a client says of it differs
		"endless pages": {pages(page), "000 "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := servers.StartLiar(t, c.answer)
			o, _ := keyPair(url(store.Address))
			o.Patience = 300 * time.Millisecond
			listing := strings.HasPrefix(name, "endless")
			if listing {
				o.Patience = time.Hour // pages and bytes are bounded as well
			}
			r := on(t, machine(t), o)
			for command, err := range commands(t, r, listing) {
				if err == nil || !strings.Contains(err.Error(), c.says) && !errors.Is(err, fleet.ErrProtocol) {
					t.Errorf("%s: %v", command, err)
				}
			}
		})
	}
}

// slowPages: each page of a listing adds to the patience.
func slowPages(t *testing.T, url func(address string) string, page func(n int) string) {
	t.Parallel()
	const many, patience = 40, 3 * time.Second
	var answered atomic.Int32
	store := servers.StartLiar(t, func(c net.Conn, _ *http.Request, _ <-chan struct{}) {
		n := int(answered.Add(1))
		if n > many {
			io.WriteString(c, "HTTP/1.1 403 Forbidden\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
			return
		}
		time.Sleep(patience / 25)
		io.WriteString(c, page(n))
	})
	o, _ := keyPair(url(store.Address))
	o.Patience = patience
	if _, err := on(t, machine(t), o).Heads(t.Context()); answered.Load() <= many {
		t.Errorf("a listing ended after %d pages: %v", answered.Load(), err)
	}
}

// commands returns the errors of all commands, or of those that list.
func commands(t *testing.T, r *fleet.Remote, listing bool) map[string]error {
	ctx, errs := t.Context(), map[string]error{}
	_, errs["list"] = r.Heads(ctx)
	_, errs["pull --any-driver"] = r.Pull(ctx, fleet.PullOptions{AnyDriver: true})
	_, errs["prune"] = r.Prune(ctx, fleet.PruneOptions{Age: time.Hour})
	if !listing {
		_, errs["pull"] = r.Pull(ctx, fleet.PullOptions{Current: &driver})
		_, errs["compact"] = r.Compact(ctx, driver.Digest())
		errs["status"] = r.Status(ctx, &driver).Err
	}
	return errs
}

// pages answers with a page after the other.
func pages(page func(n int) string) answer {
	n := 0
	return func(c net.Conn, _ *http.Request, _ <-chan struct{}) {
		n++ // one client asks, a page at a time
		io.WriteString(c, page(n))
	}
}

// spaces answers with a listing that has not begun yet: so many spaces at a time.
func spaces(n int, pause time.Duration) answer {
	return func(c net.Conn, _ *http.Request, _ <-chan struct{}) {
		io.WriteString(c, strings.Replace(object, "octet-stream", "json", 1)+"\r\n")
		for {
			if _, err := io.WriteString(c, strings.Repeat(" ", n)); err != nil {
				return
			}
			time.Sleep(pause)
		}
	}
}

// Page returns an answer with a page.
func Page(kind, body string, headers ...string) string {
	return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: " + kind + "\r\n" +
		fmt.Sprintf("Content-Length: %d\r\n", len(body)) + lines(headers) + body
}
