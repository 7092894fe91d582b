//go:build linux

package server_test

import (
	"testing"
	"time"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// TestConnectionsWithoutAHello has more of them than there may be sessions, silent or with
// half a hello: they take no place, others get in, and the server stops at once.
func TestConnectionsWithoutAHello(t *testing.T) {
	f := serve(t, server.Options{Sessions: 4, ReadTime: time.Hour})
	var silent []*raw
	for i := range 300 {
		r := f.raw()
		r.send(hello[:i%len(hello)])
		silent = append(silent, r)
	}
	var sessions []*raw
	for range 4 {
		sessions = append(sessions, f.rawSession())
	}
	if n := len(f.Status().Sessions); n != 4 {
		t.Errorf("%d sessions", n)
	}
	silent[0].wantEnd() // another one has taken its place
	r := f.raw()
	r.wantError(0, wire.CodeQuota)
	r.wantEnd()
	sessions[0].Close()
	eventually(t, "one session less", func() bool { return len(f.Status().Sessions) == 3 })
	last := silent[len(silent)-1]
	last.send(hello[(len(silent)-1)%len(hello):])
	last.want(wire.TypeHello|wire.ReplyBit, 1)
}

// TestHellosOfABurst has more clients than may wait for their hello, each of which sends it at
// once: the server closes none of them for another one, whose hello it has read already.
func TestHellosOfABurst(t *testing.T) {
	f := serve(t, server.Options{Sessions: 1000})
	for range 10 {
		var burst []*raw
		for range 200 {
			r := f.raw()
			r.send(hello, frame(wire.TypeStatus, 2, &wire.Empty{}))
			burst = append(burst, r)
		}
		for _, r := range burst {
			r.want(wire.TypeHello|wire.ReplyBit, 1)
			r.want(wire.TypeStatus|wire.ReplyBit, 2)
			r.Close()
		}
		eventually(t, "no session", func() bool { return len(f.Status().Sessions) == 0 })
	}
}

// TestAHelloWithoutANumber has no session: no answer could be told from what ends one.
func TestAHelloWithoutANumber(t *testing.T) {
	r := serve(t, server.Options{}).raw()
	r.send(frame(wire.TypeHello, 0, &wire.Hello{Oldest: wire.Version, Newest: wire.Version}))
	r.wantError(0, wire.CodeMalformed)
	r.wantEnd()
}

// TestAHelloOfALaterVersion has fields that this version does not know.
func TestAHelloOfALaterVersion(t *testing.T) {
	r := serve(t, server.Options{}).raw()
	r.send(frame(wire.TypeHello, 1, &wire.Hello{Oldest: wire.Version + 1, Newest: wire.Version + 1, Other: make([]byte, 4<<10-wire.HeaderSize-10)}))
	r.wantError(0, wire.CodeVersion)
	r.wantEnd()
}

// TestAHelloThatIsTooLarge is refused by its header: the server does not read it to its end.
func TestAHelloThatIsTooLarge(t *testing.T) {
	f := serve(t, server.Options{})
	r := f.raw()
	r.send(frame(wire.TypeHello, 1, &wire.Data{Data: make([]byte, wire.MaxHello)})[:wire.HeaderSize])
	r.wantError(0, wire.CodeMalformed)
	r.wantEnd()
}
