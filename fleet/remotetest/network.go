package remotetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/servers"
)

// Network reads from a real server over a network that fails. server is its address, and
// open opens its remote at another one; answerBytes is above the size of its answer to a Get
// of a small pack, with the headers.
func Network(t *testing.T, server string, answerBytes int64, open func(t *testing.T, address string) fleet.Backend) {
	for _, property := range []struct {
		name string
		test func(n network, t *testing.T)
	}{
		{"EndsAtEachByte", func(n network, t *testing.T) { n.endsAtEachByte(t, answerBytes) }},
		{"Stalls", network.stalls},
		{"IsSlow", network.isSlow},
	} {
		t.Run(property.name, func(t *testing.T) {
			proxy := servers.StartProxy(t, server)
			direct := open(t, server)
			t.Cleanup(func() { direct.Close() })
			b := open(t, proxy.Address)
			t.Cleanup(func() { b.Close() })
			property.test(network{b, direct, proxy}, t)
		})
	}
}

// network is a backend behind a proxy, and the same without it.
type network struct {
	fleet.Backend
	direct fleet.Backend
	proxy  *servers.Proxy
}

// fill writes a pack, and returns its name.
func (n network) fill(t *testing.T, pack []byte) string {
	t.Helper()
	name := packName(pack)
	if _, err := n.direct.Put(t.Context(), name, bytes.NewReader(pack), fleet.PutOptions{Size: int64(len(pack))}); err != nil {
		t.Fatal(err)
	}
	return name
}

// read reads a pack by a new connection.
func (n network) read(ctx context.Context, name string) ([]byte, error) {
	n.Close()
	o, err := n.Get(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer o.Body.Close()
	return io.ReadAll(o.Body)
}

// endsAtEachByte ends a connection at any byte of an answer, without SHADERCACHE_SOAK=1 at
// every fifth: that is an error, or the answer is whole.
func (n network) endsAtEachByte(t *testing.T, answerBytes int64) {
	pack := []byte("what a pack has, in some bytes")
	name, step := n.fill(t, pack), int64(5)
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		step = 1
	}
	for _, cut := range []servers.Cut{servers.Reset, servers.End} {
		var whole, first int64
		for after := int64(0); after < answerBytes; after += step {
			n.proxy.Set(servers.Faults{After: after, Then: cut})
			got, err := n.read(t.Context(), name)
			switch {
			case err == nil && bytes.Equal(got, pack):
				if whole++; first == 0 {
					first = after
				}
			case err == nil:
				t.Fatalf("cut %d after %d bytes: %q without an error", cut, after, got)
			case !errors.Is(err, fleet.ErrUnreachable) && !errors.Is(err, fleet.ErrProtocol):
				t.Fatalf("cut %d after %d bytes: %v", cut, after, err)
			}
		}
		if whole == 0 || first < int64(len(pack)) {
			t.Errorf("cut %d: %d of %d answers were whole, the first after %d bytes", cut, whole, answerBytes/step, first)
		}
	}
}

// stalls sends a part of a pack, and then nothing.
func (n network) stalls(t *testing.T) {
	name := n.fill(t, noise(1<<20))
	n.proxy.Set(servers.Faults{After: 300_000, Then: servers.Stall})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := n.read(ctx, name); !errors.Is(err, fleet.ErrUnreachable) {
		t.Errorf("%v, not ErrUnreachable", err)
	}
}

// isSlow is no error where there is time.
func (n network) isSlow(t *testing.T) {
	pack := noise(40_000)
	name := n.fill(t, pack)
	n.proxy.Set(servers.Faults{Latency: 20 * time.Millisecond, BytesPerSecond: 400_000})
	if got, err := n.read(t.Context(), name); err != nil || !bytes.Equal(got, pack) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	n.proxy.Set(servers.Faults{BytesPerSecond: 4_000})
	if _, err := n.read(ctx, name); !errors.Is(err, fleet.ErrUnreachable) {
		t.Errorf("%v, not ErrUnreachable", err)
	}
}
