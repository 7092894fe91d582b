//go:build linux

package devices_test

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// relay adds a number to what came in, and gives it to all: words of a link lie together.
const relay = `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint incoming[]; };
layout(std430, binding = 1) writeonly buffer Out { uint outgoing[]; };
uniform uint number;
uniform int from;
void main() {
    uint i = gl_GlobalInvocationID.x;
    outgoing[i] = number + (from < 0 ? 0u : incoming[i]);
}
`

// In rings, meshes and trees of one to four contexts, what a member gives arrives at its
// neighbours, and nothing else, in both phases.
func TestExchanges(t *testing.T) {
	ctx := context.Background()
	g := openGroup(t, 4, devices.Options{})
	p, err := g.Get(ctx, sourceOf(t, "relay", relay))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	none, err := g.NewReplica(ctx, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer none.Release()
	for name, topology := range map[string]devices.Topology{
		"ring of 2": devices.Ring(2), "ring of 3": devices.Ring(3), "ring of 4": devices.Ring(4),
		"mesh": devices.Mesh{Sides: []int{2, 2}}.Topology(), "tree": devices.Tree(4, 2),
	} {
		x, err := g.NewExchange(ctx, topology.Links(linkBytes)...)
		if err != nil {
			t.Fatal(err)
		}
		for phase := range 3 {
			checkExchange(t, g, p, none, x, name, topology, phase)
		}
		x.Release()
		if err := x.Swap(ctx, 0); !errors.Is(err, shadercache.ErrReleased) {
			t.Errorf("Swap after Release: %v", err)
		}
	}
	if _, err := g.NewExchange(ctx, devices.Link{From: 0, To: 4, Bytes: 4}); !errors.Is(err, shadercache.ErrInvalid) {
		t.Errorf("a link to no device: %v", err)
	}
}

const linkBytes = 256

// checkExchange has every member write its own number for a phase, and checks that each
// reads those of its neighbours, in their order.
func checkExchange(t *testing.T, g *devices.Group, p shadercache.Program, none *devices.Replica, x *devices.Exchange, name string, topology devices.Topology, phase int) {
	t.Helper()
	ctx := context.Background()
	numberOf := func(rank int) uint32 { return uint32(1000*phase + 10*rank + 1) }
	for rank := range topology {
		copyOf, err := none.Copy(rank)
		if err != nil {
			t.Fatal(err)
		}
		out := x.Out(rank, phase)
		if err := g.Run(ctx, &shadercache.Job{Dispatch: shadercache.Dispatch{
			Program: p, Groups: [3]uint32{uint32(out.Size()) / 4 / 64, 1, 1},
			Buffers:  []shadercache.Bound{{Binding: 0, Buffer: copyOf, ReadOnly: true}, {Binding: 1, Buffer: out}},
			Uniforms: []shadercache.Uniform{shadercache.Uint("number", numberOf(rank)), shadercache.Int("from", -1)},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Swap(ctx, phase); err != nil {
		t.Fatal(err)
	}
	links := topology.Links(linkBytes)
	for i, l := range links {
		got := make([]byte, linkBytes)
		place := x.InPlace(i)
		if _, err := x.In(l.To, phase).Read(ctx, place.Offset, got); err != nil {
			t.Fatal(err)
		}
		for k := 0; k < linkBytes; k += 4 {
			if v := binary.LittleEndian.Uint32(got[k:]); v != numberOf(l.From) {
				t.Fatalf("%s, phase %d: from %d to %d: word %d is %d, want %d", name, phase, l.From, l.To, k/4, v, numberOf(l.From))
			}
		}
	}
}

// What kernels read from In is what Swap brought, and a message around a ring passes every
// member.
func TestAMessageGoesAroundARing(t *testing.T) {
	t.Run("in place", func(t *testing.T) { passAround(t, openGroup(t, ringSize, devices.Options{})) })
	t.Run("copied", func(t *testing.T) { passAround(t, openPlain(t, ringSize)) })
}

const ringSize = 3

// plainDevice hides what only devices of this process have, as those of a server do.
type plainDevice struct{ shadercache.Device }

// openPlain opens a group of devices that have no mapped memory.
func openPlain(t *testing.T, n int) *devices.Group {
	t.Helper()
	gltest.Open(t)
	var members []shadercache.Device
	for _, name := range gltest.Devices(n) {
		gpu, err := shadercache.Open(shadercache.Options{Device: name, NoTrials: true, Context: glctx.Options{DriverCacheOff: true}})
		if err != nil {
			t.Fatal(err)
		}
		members = append(members, plainDevice{gpu.AsDevice()})
	}
	g, err := devices.New(devices.Options{}, members...)
	if err != nil {
		t.Fatal(err)
	}
	return closeAfter(t, g)
}

func passAround(t *testing.T, g *devices.Group) {
	ctx, n := context.Background(), g.Len()
	p, err := g.Get(ctx, sourceOf(t, "relay", relay))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Release()
	var links []devices.Link
	for rank := range n {
		links = append(links, devices.Link{From: rank, To: (rank + 1) % n, Bytes: linkBytes})
	}
	x, err := g.NewExchange(ctx, links...)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	for phase := range 2 * n {
		for rank := range n {
			from := int32(rank)
			if phase == 0 {
				from = -1
			}
			if err := g.Run(ctx, &shadercache.Job{Dispatch: shadercache.Dispatch{
				Program: p, Groups: [3]uint32{1, 1, 1},
				Buffers:  []shadercache.Bound{{Binding: 0, Buffer: x.In(rank, phase), ReadOnly: true}, {Binding: 1, Buffer: x.Out(rank, phase+1)}},
				Uniforms: []shadercache.Uniform{shadercache.Uint("number", 1<<(8*rank)), shadercache.Int("from", from)},
			}}); err != nil {
				t.Fatal(err)
			}
		}
		if err := x.Swap(ctx, phase+1); err != nil {
			t.Fatal(err)
		}
	}
	for rank := range n {
		got := make([]byte, linkBytes)
		if _, err := x.In(rank, 2*n).Read(ctx, 0, got); err != nil {
			t.Fatal(err)
		}
		for k := 0; k < linkBytes; k += 4 {
			if v := binary.LittleEndian.Uint32(got[k:]); v != 0x020202 {
				t.Fatalf("device %d: word %d is %#x, want every member twice", rank, k/4, v)
			}
		}
	}
}
