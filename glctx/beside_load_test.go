//go:build linux

package glctx

import (
	"context"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// A program that was compiled beside is loaded and primed in two callbacks, so that a poll
// with a small budget ends between them.
func TestBesideLoadsAndPrimesInTwoCallbacks(t *testing.T) {
	ownContext(t)
	c, err := Adopt(Options{DriverCacheOff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	b, err := OpenBeside(c)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	source := shader.MustSource("copy", `layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Data { float x[]; };
void main() { x[gl_GlobalInvocationID.x] += 1; }
`, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Compile(context.Background(), []*shader.Source{source}, func(_ int, p shader.Program, err error) {
			if err != nil {
				t.Error(err)
			}
			b.Delete(p.ID)
		})
	}()
	between := 0
	for polled := false; !polled; {
		select {
		case <-done:
			polled = true
		case <-c.Pending():
		}
		c.PollFor(time.Nanosecond)
		if n := c.Counters(); n.BinaryLoads == 1 && n.Primes == 0 {
			between++
		}
	}
	if between == 0 {
		t.Error("no poll ended between the load and the prime")
	}
	if first, second := c.Counters(), b.side.Counters(); first.Compiles != 0 || first.BinaryLoads != 1 || second.Compiles != 1 || second.BinaryLoads != 0 {
		t.Errorf("the loop's context: %+v, the context beside: %+v", first, second)
	}
}
