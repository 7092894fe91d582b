//go:build linux

package queue

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/shadercache/shadercache/resident/residenttest"
	"github.com/shadercache/shadercache/shader"
)

// stolenOnce returns the result of a task that was done once, over poison.
func stolenOnce(task int) uint32 { return poison + stealResult(task) }

// The steal workload.
func TestEveryTaskExactlyOnceAndEveryGroupContributes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, tasks := range []int{2017, 8191} {
		for _, order := range []Order{FIFO, LIFO, Priority} {
			t.Run(name(tasks, order), func(t *testing.T) {
				f := &fixture{f.In(t)}
				results := f.results(tasks)
				const groups = 16
				q := f.queue(Options{Order: order, Capacity: tasks, Groups: groups, Local: 32, Steal: true}, stealText, nil, results)
				f.push(q, 0, sequence(0, tasks/2)...)
				f.push(q, q.options.Levels-1, sequence(tasks/2, tasks-tasks/2)...)
				r := f.run(q)
				if r.Finished != uint64(tasks) || r.Returned != 0 {
					t.Errorf("report %+v", r)
				}
				wantAll(t, f.download(results), stolenOnce)
				reports, err := q.Groups(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				total := uint64(0)
				for i, g := range reports {
					total += g.Taken + g.Stolen
					if g.Taken == 0 {
						t.Errorf("group %d took no item of its own", i)
					}
				}
				if total != uint64(tasks) {
					t.Errorf("groups took %d of %d: %+v", total, tasks, reports)
				}
			})
		}
	}
}

// A group that starts without items has to steal, because the others take few.
func TestGroupsSteal(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	results := f.results(500)
	// One invocation a group: the first groups to run empty the others' ranges.
	q := f.queue(Options{Capacity: 500, Groups: 10, Local: 1, Takes: 200, Steal: true}, stealText, nil, results)
	f.push(q, 0, sequence(0, 500)...)
	if r := f.run(q); r.Rounds > 2 {
		t.Errorf("report %+v", r)
	}
	wantAll(t, f.download(results), stolenOnce)
	reports, err := q.Groups(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stolen := uint64(0)
	for _, g := range reports {
		stolen += g.Stolen
	}
	if stolen == 0 {
		t.Errorf("no group stole: %+v", reports)
	}
}

// orderText stores the position at which an item was processed. Only one invocation
// runs, so positions are in order.
const orderText = `
layout(std430, binding = 4) restrict buffer Turns { uint next; uint turns[]; };
bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    turns[item[0]] = next + (level << 16);
    next += 1u;
    return true;
}`

func TestOrders(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = 100
	tests := []struct {
		order Order
		want  func(i int) uint32
	}{
		{FIFO, func(i int) uint32 { return uint32(i) }},
		{LIFO, func(i int) uint32 { return uint32(n - 1 - i) }},
		{Priority, func(i int) uint32 { // item i is at level 2 - i%3
			level := 2 - i%3
			before := map[int]int{0: 0, 1: 33, 2: 66}[level] // level 0 and 1 have 33
			return uint32(before+i/3) + uint32(level)<<16
		}},
	}
	for _, test := range tests {
		t.Run(test.order.String(), func(t *testing.T) {
			f := &fixture{f.In(t)}
			turns := f.results(1 + n)
			if err := turns.Upload(t.Context(), 0, []uint32{0}); err != nil {
				t.Fatal(err)
			}
			o := Options{Order: test.order, Groups: 1, Local: 1, Takes: 7}
			if test.order == Priority {
				o.Levels = 3
			}
			q := f.queue(o, orderText, nil, turns)
			for i := range n {
				level := 0
				if o.Levels == 3 {
					level = 2 - i%3
				}
				f.push(q, level, uint32(i))
			}
			if r := f.run(q); r.Rounds != (n+6)/7 {
				t.Errorf("%d rounds", r.Rounds)
			}
			wantAll(t, f.download(turns)[1:], test.want)
		})
	}
}

// treeText visits a node of a binary tree and pushes its children. Items have two
// words: the node, from 1, and its depth, which children inherit plus 1.
const treeText = `
layout(std430, binding = 4) restrict buffer Visits { uint visits[]; };
bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    uint node = item[0];
    bool inner = 2u * node + 1u < uint(NODES);
    if (inner && !queueReserve(2u)) {
        return false;
    }
    atomicAdd(visits[node], item[1]);
    if (inner) {
        uint child[QUEUE_WORDS];
        for (uint c = 0u; c < 2u; ++c) {
            child[0] = 2u * node + c;
            child[1] = item[1] + 1u;
            queuePush((level + c) % QUEUE_LEVELS, child);
        }
    }
    return true;
}`

// depth returns the number that treeText adds at a node, for a root item of 1.
func depth(node int) uint32 {
	d := uint32(0)
	for ; node > 0; node /= 2 {
		d++
	}
	return d
}

func TestItemsPushItems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const nodes = 1 << 12
	for _, o := range []Options{
		{Order: FIFO},
		{Order: LIFO},
		{Order: LIFO, Capacity: 360, Takes: 1, Local: 32, Groups: 2}, // far less than a level of the tree
		{Order: Priority, Levels: 3},
		{Order: FIFO, Steal: true},
		{Order: Priority, Levels: 2, Steal: true, Groups: 5, Local: 3, Rounds: 3},
	} {
		t.Run(name(o.Order, o.Capacity, o.Steal), func(t *testing.T) {
			f := &fixture{f.In(t)}
			visits := f.results(nodes)
			o.Words = 2
			if o.Capacity == 0 {
				o.Capacity = nodes
			}
			q := f.queue(o, treeText, shader.Defines{"NODES": "4096"}, visits)
			f.push(q, 0, 1, 1)
			r := f.run(q)
			if r.Finished != nodes-1 {
				t.Errorf("%d items finished, not %d", r.Finished, nodes-1)
			}
			wantAll(t, f.download(visits), func(i int) uint32 {
				if i == 0 {
					return poison // no node
				}
				return poison + depth(i)
			})
			if o.Capacity == 360 && r.Refused == 0 {
				t.Errorf("nothing was refused: %+v", r)
			}
		})
	}
}

func TestFullQueueLosesNoItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	visits := f.results(4096)
	q := f.queue(Options{Capacity: 16, Words: 2, Local: 8}, treeText, shader.Defines{"NODES": "4096"}, visits)
	f.push(q, 0, 1, 1)
	r, err := q.Run(t.Context())
	if !errors.Is(err, ErrStuck) {
		t.Fatalf("error %v, report %+v", err, r)
	}
	if r.Items == 0 || r.Returned == 0 || r.Refused == 0 {
		t.Errorf("report %+v", r)
	}
	got := f.download(visits)
	visited := 0
	for i, v := range got {
		if v == poison {
			continue
		}
		if visited++; v != poison+depth(i) {
			t.Errorf("node %d has %#x", i, v)
		}
	}
	// Each finished item visited one node.
	if uint64(visited) != r.Finished {
		t.Errorf("%d nodes visited, %d items finished", visited, r.Finished)
	}
	if want := visited + 1; r.Items != want { // a tree whose leaves are the items
		t.Errorf("%d items are left, not %d", r.Items, want)
	}
}

func TestPushReturnsErrFull(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	results := f.results(40)
	q := f.queue(Options{Capacity: 40, Takes: 1, Local: 8, Groups: 1, Rounds: 1}, stealText, nil, results)
	f.push(q, 0, sequence(0, 30)...)
	if err := q.Push(0, sequence(30, 11)...); !errors.Is(err, ErrFull) {
		t.Errorf("error is %v", err)
	}
	r, err := q.RunRounds(t.Context(), 1)
	if err != nil || r.Finished != 8 || r.Items != 22 || !slices.Equal(r.Levels, []int{22}) {
		t.Fatalf("report %+v, %v", r, err)
	}
	f.push(q, 0, sequence(30, 10)...)
	if err := q.Push(0, sequence(0, 9)...); !errors.Is(err, ErrFull) {
		t.Errorf("error is %v", err)
	}
	if r := f.run(q); r.Finished != 40 {
		t.Errorf("report %+v", r)
	}
	wantAll(t, f.download(results), stolenOnce)
}

func TestItemsAreUploadedInParts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n = uploadWords + 5000
	results := f.results(n)
	q := f.queue(Options{Capacity: n, Groups: 64}, stealText, nil, results)
	f.push(q, 0, sequence(0, n)...)
	f.run(q)
	wantAll(t, f.download(results), stolenOnce)
}

// TestUploadsLeaveRoomForReservations has more items than one upload, each of which pushes
// two: what is still to be uploaded has no place on the device yet.
func TestUploadsLeaveRoomForReservations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const words = 16
	const n = uploadWords/words + 450
	for _, order := range []Order{FIFO, LIFO} {
		t.Run(name(order), func(t *testing.T) {
			f := &fixture{f.In(t)}
			leaves := f.results(n)
			q := f.queue(Options{Capacity: n, Words: words, Order: order, Rounds: 1}, `
layout(std430, binding = 4) restrict buffer Leaves { uint leaves[]; };
bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    if (item[1] == 1u) {
        atomicAdd(leaves[item[0]], 1u);
        return true;
    }
    if (!queueReserve(2u)) {
        return false;
    }
    item[1] = 1u;
    queuePush(0u, item);
    queuePush(0u, item);
    return true;
}
`, nil, leaves)
			items := make([]uint32, n*words)
			for i := range n {
				items[i*words] = uint32(i)
			}
			f.push(q, 0, items...)
			if r := f.run(q); r.Finished != 3*n {
				t.Errorf("report %+v", r)
			}
			wantAll(t, f.download(leaves), func(int) uint32 { return poison + 2 })
		})
	}
}

// TestAMillionItems fills a queue with 2^20 items of 64 bytes.
func TestAMillionItems(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const n, words = 1 << 20, 16
	results := f.results(n)
	q := f.queue(Options{Capacity: n, Groups: 256, Words: words}, stealText, nil, results)
	items := make([]uint32, words*n)
	for i := range n {
		items[words*i] = uint32(i)
	}
	f.push(q, 0, items...)
	if r := f.run(q); r.Finished != n || r.Items != 0 {
		t.Errorf("report %+v", r)
	}
	wantAll(t, f.download(results), stolenOnce)
}

const greedyText = `bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    if (item[0] == 1u) {
        item[0] = 2u;
        queuePush(0u, item);
    }
    return true;
}`

func TestUnreservedPushIsAnError(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	q := f.queue(Options{}, greedyText, nil)
	f.push(q, 0, 1)
	if _, err := q.Run(t.Context()); !errors.Is(err, ErrUnreserved) {
		t.Errorf("error is %v", err)
	}
}

func TestRunReturnsWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	results := f.results(100)
	q := f.queue(Options{}, stealText, nil, results)
	f.push(q, 0, sequence(0, 100)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := q.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	f.run(q) // the items are still in the queue
	wantAll(t, f.download(results), stolenOnce)
}

func TestInvalidArguments(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	_, err := New(t.Context(), f.Executor, f.Cache, Item{}, Options{Levels: 2})
	residenttest.WantError(t, err, "2 levels need the order Priority")
	_, err = New(t.Context(), f.Executor, f.Cache, Item{}, Options{Groups: 257})
	residenttest.WantError(t, err, "Options.Groups is 257, it may be 1 to 256")
	_, err = New(t.Context(), f.Executor, f.Cache, Item{Name: "broken", Text: "nonsense"}, Options{})
	var compile *shader.CompileError
	if !errors.As(err, &compile) {
		t.Errorf("error is %v", err)
	}
	q := f.queue(Options{Words: 2}, greedyText, nil)
	residenttest.WantError(t, q.Push(1, 1, 2), "level 1 is not in 0 to 0")
	residenttest.WantError(t, q.Push(0, 1, 2, 3), "3 words are not items of 2")
	q.Close()
	q.Close()
	if err := q.Push(0, 1, 2); !errors.Is(err, errClosed) {
		t.Errorf("error is %v", err)
	}
	if _, err := q.Run(t.Context()); !errors.Is(err, errClosed) {
		t.Errorf("error is %v", err)
	}
}
