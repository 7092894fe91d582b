package http_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/servers"
	"github.com/shadercache/shadercache/remote"
)

const object = "v1/0123/head"

// behindProxy starts nginx with one object, behind a proxy.
func behindProxy(t *testing.T, data []byte) (*servers.Proxy, remote.Backend) {
	t.Helper()
	n := servers.StartNginx(t, servers.NginxOptions{})
	path := filepath.Join(n.Root, "cache", filepath.FromSlash(object))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, data, 0o600)); err != nil {
		t.Fatal(err)
	}
	proxy := servers.StartProxy(t, n.URL.Host)
	u := *n.URL
	u.Host = proxy.Address
	return proxy, open(t, &u, nil)
}

func get(ctx context.Context, b remote.Backend) ([]byte, error) {
	o, err := b.Get(ctx, object)
	if err != nil {
		return nil, err
	}
	defer o.Body.Close()
	return io.ReadAll(o.Body)
}

// A connection that ends at any byte of an answer is an error, or the answer is whole.
func TestAnswerEndsAtEachByte(t *testing.T) {
	t.Parallel()
	data := []byte("what a head has, in some bytes")
	proxy, b := behindProxy(t, data)
	for _, cut := range []servers.Cut{servers.Reset, servers.End} {
		whole := 0
		for after := int64(0); after < 420; after++ {
			proxy.Set(servers.Faults{After: after, Then: cut})
			b.Close() // the next request has a new connection
			got, err := get(t.Context(), b)
			switch {
			case err == nil && bytes.Equal(got, data):
				whole++
			case err == nil:
				t.Fatalf("cut %d after %d bytes: %q without an error", cut, after, got)
			case !errors.Is(err, remote.ErrUnreachable) && !errors.Is(err, remote.ErrProtocol):
				t.Fatalf("cut %d after %d bytes: %v", cut, after, err)
			}
		}
		if whole == 0 || whole > 250 {
			t.Errorf("cut %d: %d of 420 answers were whole", cut, whole)
		}
	}
}

func TestStalledBodyEndsWithTheContext(t *testing.T) {
	t.Parallel()
	proxy, b := behindProxy(t, make([]byte, 1<<20))
	proxy.Set(servers.Faults{After: 300_000, Then: servers.Stall})
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := get(ctx, b); !errors.Is(err, remote.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, not ErrUnreachable", err)
	}
}

func TestSlowNetworkIsNoError(t *testing.T) {
	t.Parallel()
	data := bytes.Repeat([]byte("pack"), 10_000)
	proxy, b := behindProxy(t, data)
	proxy.Set(servers.Faults{Latency: 20 * time.Millisecond, BytesPerSecond: 400_000})
	if got, err := get(t.Context(), b); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	proxy.Set(servers.Faults{BytesPerSecond: 4_000})
	b.Close()
	if _, err := get(ctx, b); !errors.Is(err, remote.ErrUnreachable) {
		t.Errorf("%v, not ErrUnreachable", err)
	}
}
