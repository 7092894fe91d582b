//go:build linux

package queue_test

import (
	"context"
	"fmt"
	"log"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/resident/queue"
)

// primes counts divisors of a number: an item is a range of candidates. An item with
// a long range pushes its two halves.
const primes = `
layout(std430, binding = 4) buffer Found { uint divisors; };
bool queueRun(uint level, uint item[QUEUE_WORDS]) {
    uint number = item[0], first = item[1], end = item[2];
    if (end - first > 100u) {
        if (!queueReserve(2u)) {
            return false; // no places: process it again later
        }
        uint middle = (first + end) / 2u;
        item[2] = middle;
        queuePush(0u, item);
        item[1] = middle;
        item[2] = end;
        queuePush(0u, item);
        return true;
    }
    uint n = 0u;
    for (uint d = first; d < end; ++d) {
        n += number % d == 0u ? 1u : 0u;
    }
    atomicAdd(divisors, n);
    return true;
}`

// Items push items, and the queue runs until none are left.
func Example() {
	gpu, err := shadercache.Open(shadercache.Options{Cache: cache.Options{MemoryOnly: true}})
	if err != nil {
		log.Fatal(err)
	}
	defer gpu.Close()
	found, err := executor.BufferOf(gpu.Executor, []uint32{0})
	if err != nil {
		log.Fatal(err)
	}
	defer found.Release()

	item := queue.Item{Name: "primes", Text: primes, Memory: []job.Bound{found.Bind(queue.FirstBinding)}}
	q, err := queue.New(context.Background(), gpu.Executor, gpu.Cache, item, queue.Options{Words: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer q.Close()
	for _, number := range []uint32{9973, 10_007} {
		if err := q.Push(0, number, 2, number); err != nil {
			log.Fatal(err)
		}
	}
	report, err := q.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	var divisors [1]uint32
	if err := found.Download(context.Background(), 0, divisors[:]); err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Finished, "items,", divisors[0], "divisors: both are prime")
	// Output: 510 items, 0 divisors: both are prime
}
