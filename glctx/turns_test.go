//go:build linux

package glctx

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// While a program waits for the thread of a render loop, or is loaded there, the context
// beside compiles nothing. Loads of stored programs take turns with it too.
func TestNothingCompilesBesideALoad(t *testing.T) {
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
	b.turns.patience = time.Hour
	const programs = 4
	var loads sync.WaitGroup
	for i := range programs {
		loads.Go(func() {
			b.Compile(context.Background(), []*shader.Source{slowProgram(i)}, func(_ int, p shader.Program, err error) {
				if err != nil {
					t.Error(err)
					return
				}
				defer b.Delete(p.ID)
				format, payload, err := b.Binary(context.Background(), p.ID)
				if err != nil {
					t.Error(err)
				}
				if p, err = b.Load(context.Background(), format, payload); err != nil {
					t.Error(err)
				}
				b.Delete(p.ID)
			})
		})
	}
	<-c.Pending() // a load, which this thread does not begin yet
	before := b.side.Counters().Compiles
	loads.Go(func() {
		b.Compile(context.Background(), []*shader.Source{slowProgram(programs)}, func(_ int, p shader.Program, err error) {
			if err != nil {
				t.Error(err)
			}
			b.Delete(p.ID)
		})
	})
	for !b.turns.compileWaits() && b.side.Counters().Compiles == before {
		time.Sleep(time.Millisecond)
	}
	if b.side.Counters().Compiles != before {
		t.Error("a program compiles beside, and a load waits for the thread")
	}
	done := make(chan struct{})
	go func() { loads.Wait(); close(done) }()
	c.Poll()
	for frames := 0; ; frames++ {
		select {
		case <-c.Pending():
		case <-done:
			c.Poll() // the last deletions
			checkBeside(t, b, programs)
			return
		}
		if loadsQueued(c) {
			if n := b.side.Counters(); n.Compiles != n.Primes {
				t.Errorf("frame %d: %d programs compile beside, and a load waits for the thread", frames, n.Compiles-n.Primes)
			}
		}
		c.Poll()
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

// compileWaits reports whether a compile waits for the end of loads.
func (t *turns) compileWaits() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kind == loading && slices.ContainsFunc(t.waiting, func(w *turn) bool { return w.kind == compiling })
}

// loadsQueued reports whether a callback waits that another goroutine waits for.
func loadsQueued(c *Context) bool {
	c.queue.mu.Lock()
	defer c.queue.mu.Unlock()
	for _, j := range c.queue.mu.jobs {
		if j.call != nil {
			return true
		}
	}
	return false
}

// checkBeside checks which context has compiled and which has loaded.
func checkBeside(t *testing.T, b *Beside, programs uint64) {
	t.Helper()
	first, second := b.Context.Counters(), b.side.Counters()
	if first.Compiles != 0 || first.BinaryLoads != 2*programs+1 || first.Programs != 0 {
		t.Errorf("the loop's context: %+v", first)
	}
	if second.Compiles != programs+1 || second.BinaryLoads != 0 {
		t.Errorf("the context beside: %+v", second)
	}
}

func TestTurnsAreTakenInOrder(t *testing.T) {
	w := &turns{patience: time.Hour}
	endA, endB := w.begin(t.Context(), loading), w.begin(t.Context(), loading) // overlap
	began := make(chan turnKind, 2)
	var all sync.WaitGroup
	begin := func(kind turnKind, queued int) {
		all.Go(func() {
			end := w.begin(t.Context(), kind)
			began <- kind
			end()
		})
		for { // until it waits
			w.mu.Lock()
			n := len(w.waiting)
			w.mu.Unlock()
			if n == queued {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
	begin(compiling, 1)
	begin(loading, 2) // behind it, though a load runs
	endA()
	if len(began) != 0 {
		t.Error("a compile began beside a load")
	}
	endB()
	all.Wait()
	if a, b := <-began, <-began; a != compiling || b != loading {
		t.Errorf("order %v, %v", a, b)
	}
	if w.running != 0 || len(w.waiting) != 0 {
		t.Errorf("left: %+v", w)
	}
}

// Neither a program that compiles for long nor a loop that does not poll stops the other
// kind: after its patience it goes on, and what follows does not wait at all.
func TestTurnsHavePatience(t *testing.T) {
	w := &turns{patience: time.Millisecond}
	compile := w.begin(t.Context(), compiling)
	load := w.begin(t.Context(), loading)
	w.patience = time.Hour
	w.begin(t.Context(), loading)()
	load()
	compile()
	if w.late || w.running != 0 {
		t.Errorf("%+v", w)
	}
	compile = w.begin(t.Context(), compiling)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	w.begin(ended, loading)()
	compile()
	if w.late || w.running != 0 || len(w.waiting) != 0 {
		t.Errorf("%+v", w)
	}
}
