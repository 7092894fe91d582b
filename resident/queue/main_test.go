//go:build linux

package queue

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/resident/residenttest"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// fixture is an executor over a context and a cache of its own.
type fixture struct {
	*executor.Executor
	t       testing.TB
	context *glctx.Context
	cache   *cache.Cache
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	e, programs := residenttest.Open(t)
	return &fixture{e, t, e.Context(), programs}
}

// poison is what results hold before anything runs.
const poison = 0x7fc0_dead

// results makes device memory for n words, all poison.
func (f *fixture) results(n int) *executor.Buffer[uint32] {
	f.t.Helper()
	words := make([]uint32, n)
	for i := range words {
		words[i] = poison
	}
	b, err := executor.BufferOf(f.Executor, words)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(b.Release)
	return b
}

func (f *fixture) queue(o Options, text string, defines binary.Defines, memory ...*executor.Buffer[uint32]) *Queue {
	f.t.Helper()
	item := Item{Name: "item", Text: text, Defines: defines}
	for i, m := range memory {
		item.Memory = append(item.Memory, m.At(uint32(FirstBinding+i)))
	}
	q, err := New(context.Background(), f.Executor, f.cache, item, o)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(q.Close)
	return q
}

func (f *fixture) run(q *Queue) Report {
	f.t.Helper()
	r, err := q.Run(f.t.Context())
	if err != nil {
		f.t.Fatalf("%v, report %+v", err, r)
	}
	if r.Items != 0 || r.Unreserved != 0 {
		f.t.Fatalf("after Run: %+v", r)
	}
	return r
}

func (f *fixture) download(b *executor.Buffer[uint32]) []uint32 {
	f.t.Helper()
	words := make([]uint32, b.Len())
	if err := b.Download(f.t.Context(), 0, words); err != nil {
		f.t.Fatal(err)
	}
	return words
}

func (f *fixture) push(q *Queue, level int, words ...uint32) {
	f.t.Helper()
	if err := q.Push(level, words...); err != nil {
		f.t.Fatal(err)
	}
}

// wantAll compares every word.
func wantAll(t *testing.T, got []uint32, want func(i int) uint32) {
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

func wantError(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v does not say %q", err, text)
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
