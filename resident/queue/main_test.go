//go:build linux

package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/resident/residenttest"
	"github.com/shadercache/shadercache/shader"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// fixture adds the helpers of this package to the common fixture.
type fixture struct{ residenttest.Fixture }

func newFixture(t testing.TB) *fixture { return &fixture{residenttest.New(t)} }

// stealText are tasks of unequal cost: a task is a number, and costs 1 to 512 steps of a
// generator with this seed. A task that is done twice, or never, has a wrong result.
const stealText = `
layout(std430, binding = 4) restrict buffer StealResults { uint stealResults[]; };
bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    uint x = item[0];
    uint steps = 1u + (x * 2654435761u >> 23);
    for (uint i = 0u; i < steps; ++i) {
        x = x * 1664525u + 1013904223u;
    }
    atomicAdd(stealResults[item[0]], x + 1u);
    return true;
}`

// stealResult returns what a task of stealText adds to its result.
func stealResult(task int) uint32 {
	x := uint32(task)
	for range 1 + uint32(task)*2654435761>>23 {
		x = x*1664525 + 1013904223
	}
	return x + 1
}

// poison is the value of results before a run.
const poison = 0x7fc0_dead

// results returns a buffer of n words, all poison.
func (f *fixture) results(n int) *executor.Buffer[uint32] {
	f.T.Helper()
	words := make([]uint32, n)
	for i := range words {
		words[i] = poison
	}
	b, err := executor.BufferOf(f.Executor, words)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(b.Release)
	return b
}

func (f *fixture) queue(o Options, text string, defines shader.Defines, memory ...*executor.Buffer[uint32]) *Queue {
	f.T.Helper()
	item := Item{Name: "item", Text: text, Defines: defines}
	for i, m := range memory {
		item.Memory = append(item.Memory, m.Bind(uint32(FirstBinding+i)))
	}
	q, err := New(context.Background(), f.Executor, f.Cache, item, o)
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(q.Close)
	return q
}

func (f *fixture) run(q *Queue) Report {
	f.T.Helper()
	r, err := q.Run(f.T.Context())
	if err != nil {
		f.T.Fatalf("%v, report %+v", err, r)
	}
	if r.Items != 0 || r.Unreserved != 0 {
		f.T.Fatalf("after Run: %+v", r)
	}
	return r
}

func (f *fixture) download(b *executor.Buffer[uint32]) []uint32 {
	f.T.Helper()
	words := make([]uint32, b.Len())
	if err := b.Download(f.T.Context(), 0, words); err != nil {
		f.T.Fatal(err)
	}
	return words
}

func (f *fixture) push(q *Queue, level int, words ...uint32) {
	f.T.Helper()
	if err := q.Push(level, words...); err != nil {
		f.T.Fatal(err)
	}
}

// wantAll compares every word.
func wantAll(t testing.TB, got []uint32, want func(i int) uint32) {
	t.Helper()
	wrong := 0
	for i := range got {
		if got[i] != want(i) {
			if wrong++; wrong < 5 {
				t.Errorf("word %d of %d is %#x, not %#x", i, len(got), got[i], want(i))
			}
		}
	}
	if wrong > 4 {
		t.Errorf("%d of %d words are wrong", wrong, len(got))
	}
}

func sequence(from, n int) []uint32 {
	words := make([]uint32, n)
	for i := range words {
		words[i] = uint32(from + i)
	}
	return words
}

func name(values ...any) string { return strings.ReplaceAll(fmt.Sprint(values...), " ", "_") }
