//go:build linux

package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/job"
)

func init() {
	faultgl.OnProcess("steal", func(dir string) (faultgl.Counters, error) {
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
		if err != nil {
			return faultgl.Counters{}, err
		}
		err = runChecked(context.Background(), gpu)
		c := gpu.Cache.Stats().Counters
		return faultgl.Counters{Compiles: c.Compiles, DiskHits: c.DiskHits, WrongAnswers: c.WrongAnswers}, errors.Join(err, gpu.Close())
	})
}

// runChecked does tasks in a queue whose item has a check.
func runChecked(ctx context.Context, gpu *shadercache.GPU) error {
	const tasks = 500
	results, err := executor.BufferOf(gpu.Executor, make([]uint32, tasks))
	if err != nil {
		return err
	}
	defer results.Release()
	check := func(ctx context.Context, q *Queue) error {
		if err := q.Push(0, sequence(0, tasks)...); err != nil {
			return err
		}
		_, err := q.Run(ctx)
		got := make([]uint32, tasks)
		if err := errors.Join(err, results.Download(ctx, 0, got)); err != nil {
			return err
		}
		for task, result := range got {
			if result != stealResult(task) {
				return fmt.Errorf("the result of task %d is %#x", task, result)
			}
		}
		return results.Upload(ctx, 0, make([]uint32, tasks))
	}
	item := Item{Name: "queue_steal", Text: stealText, Loops: 513, Memory: []job.Bound{results.Bind(FirstBinding)}, Check: check}
	q, err := New(ctx, gpu.Executor, gpu.Cache, item, Options{Steal: true})
	if err != nil {
		return err
	}
	defer q.Close()
	return check(ctx, q)
}

// A driver that accepts binaries and computes wrong costs compiles. The item has a check.
func TestLoadedQueueGivesKnownAnswers(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	faultgl.TestKnownAnswers(t, "steal", "#version", 4)
}

// The check of the queue's own programs passes with every order and size.
func TestCheckOwn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, o := range []Options{
		{}, {Capacity: 1}, {Order: LIFO, Words: 3, Capacity: 40}, {Order: Priority, Words: 16, Levels: 32, Capacity: 70, Steal: true},
	} {
		q := f.queue(o, "bool queueRun(uint level, uint item[QUEUE_WORDS]) { return true; }", nil)
		own := []*cache.Handle{q.programs.push, q.programs.plan, q.programs.gather}
		if err := q.checkOwn(t.Context(), own); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
