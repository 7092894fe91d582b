//go:build linux

package queue

import (
	"errors"
	"testing"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/resident/internal/loops"
)

// loopText has items of a number of turns: word 0 is the item's place, word 1 its turns.
const loopText = `
layout(std430, binding = 4) buffer Results { uint results[]; };
bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    uint sum = 0u;
    for (uint i = 0u; i < item[1]; ++i) {
        sum = sum * 3u + (i ^ item[0]);
    }
    results[item[0]] = sum;
    return true;
}`

// loopResult returns the result of an item of loopText.
func loopResult(item, turns uint32) (sum uint32) {
	for i := range turns {
		sum = sum*3 + (i ^ item)
	}
	return sum
}

// loopQueue returns a queue with items of a number of turns, which declare others.
func (f *fixture) loopQueue(items, turns, declared uint32, o Options) (*Queue, *executor.Buffer[uint32], error) {
	results := f.results(int(items))
	o.Words = 2
	q, err := New(f.T.Context(), f.Executor, f.Cache, Item{Name: "loops", Text: loopText, Loops: declared,
		Memory: []job.Bound{results.Bind(FirstBinding)}}, o)
	if err != nil {
		return nil, results, err
	}
	f.T.Cleanup(q.Close)
	for i := range items {
		f.push(q, 0, i, turns)
	}
	return q, results, nil
}

// TestLoopsThatTheDriverEnds has items with more turns than the driver allows, of one item
// or of all that an invocation takes: without a declaration Run fails, where the driver
// ends loops (Mesa 22.3's does, 25.0's does not), with it all results are right.
func TestLoopsThatTheDriverEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if !f.GPU.Info().Software() {
		t.Skip("this driver ends no loops")
	}
	few := Options{Groups: 1, Local: 8}
	for _, turns := range []uint32{40_000, 70_000} {
		q, results, err := f.loopQueue(64, turns, 0, few)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := q.Run(t.Context()); err == nil {
			wantAll(t, f.download(results), func(i int) uint32 { return loopResult(uint32(i), turns) })
			continue
		}
		for range 2 { // the results stay wrong
			if r, err := q.Run(t.Context()); !errors.Is(err, loops.ErrTooLong) {
				t.Errorf("%d turns: error %v, %+v", turns, err, r)
			}
		}
		if _, err := q.RunRounds(t.Context(), 1); !errors.Is(err, loops.ErrTooLong) {
			t.Errorf("%d turns: error %v of rounds", turns, err)
		}
	}
	for _, o := range []Options{few, {Groups: 3, Local: 8, Steal: true}, {Order: Priority, Groups: 2, Local: 1, Takes: 4096}} {
		q, results, err := f.loopQueue(64, 40_000, 40_001, o)
		if err != nil {
			t.Fatal(err)
		}
		if q.options.Takes != 1 {
			t.Errorf("%+v: an invocation takes %d items", o, q.options.Takes)
		}
		f.run(q)
		wantAll(t, f.download(results), func(i int) uint32 { return loopResult(uint32(i), 40_000) })
	}
	if _, _, err := f.loopQueue(1, 1, 70_000, few); !errors.Is(err, loops.ErrTooLong) {
		t.Errorf("70,000 turns of an item are accepted: %v", err)
	}
}

// TestTakesWithinTheLimit keeps all that an invocation takes below the limit, at the
// largest sizes too.
func TestTakesWithinTheLimit(t *testing.T) {
	t.Parallel()
	o, err := Options{Order: Priority, Levels: 32, Groups: 256, Words: 16, Takes: 4096, Steal: true}.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[uint32]int{0: 4096, 65_535: 323} {
		if got, err := o.withinLimit(limit, Item{}); err != nil || got.Takes != want {
			t.Errorf("limit %d: %d takes, %v", limit, got.Takes, err)
		}
	}
}
