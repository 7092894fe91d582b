//go:build linux && cgo

package glctx

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// Programs that were compiled beside are loaded and primed in two callbacks each, so that a
// poll with a small budget ends between them, and nothing compiles meanwhile.
func TestBesideLoads(t *testing.T) {
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
	const programs = 6
	var sources []*shader.Source
	for i := range programs {
		sources = append(sources, slowProgram(i))
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.Compile(context.Background(), sources, func(_ int, p shader.Program, err error) {
			if err != nil {
				t.Error(err)
			}
			b.Delete(p.ID)
		})
	}()
	between := 0
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		case <-c.Pending():
		}
		before, beside := c.Counters(), b.side.Counters()
		c.PollFor(time.Nanosecond)
		after := c.Counters()
		if loaded := after.BinaryLoads - before.BinaryLoads + after.Primes - before.Primes; loaded > 0 && beside.Compiles != beside.Primes {
			t.Errorf("%d programs compile beside a load", beside.Compiles-beside.Primes)
		}
		if after.BinaryLoads > after.Primes {
			between++
		}
	}
	if between == 0 {
		t.Error("no poll ended between a load and its prime")
	}
	if first, second := c.Counters(), b.side.Counters(); first.Compiles != 0 || first.BinaryLoads != programs || second.Compiles != programs || second.BinaryLoads != 0 {
		t.Errorf("the loop's context: %+v, the context beside: %+v", first, second)
	}
}

// slowProgram returns a program that takes a software driver tens of milliseconds, and is
// in no cache.
func slowProgram(i int) *shader.Source {
	return shader.MustSource("slow", fmt.Sprintf(`layout(local_size_x = 32) in;
layout(std430, binding = 0) buffer Data { float x[]; };
void main() {
	float y = x[gl_GlobalInvocationID.x];
%s	x[gl_GlobalInvocationID.x] = y + %d.%d;
}
`, strings.Repeat("	y = sin(y) * exp(-y * y);\n", 8), i, time.Now().UnixNano()%1e12), nil)
}
