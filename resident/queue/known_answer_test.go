//go:build linux

package queue

import (
	"context"
	"errors"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

func init() {
	faultgl.OnProcess("steal", func(dir string) (faultgl.Counters, error) {
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
		if err != nil {
			return faultgl.Counters{}, err
		}
		s, err := Steal(context.Background(), gpu.Executor, gpu.Cache, StealOptions{Options: Options{Steal: true}, Tasks: 500, Repeat: 2})
		if err == nil && !s.Verified {
			err = errors.New("not verified")
		}
		c := gpu.Cache.Stats().Counters
		return faultgl.Counters{Compiles: c.Compiles, DiskHits: c.DiskHits, WrongAnswers: c.WrongAnswers}, errors.Join(err, gpu.Close())
	})
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
