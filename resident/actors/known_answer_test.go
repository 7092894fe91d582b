//go:build linux

package actors

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

func init() {
	faultgl.OnProcess("world", func(dir string) (faultgl.Counters, error) {
		gpu, err := shadercache.Open(shadercache.Options{Dir: dir})
		if err != nil {
			return faultgl.Counters{}, err
		}
		err = countInWorld(context.Background(), gpu)
		c := gpu.Cache.Stats().Counters
		return faultgl.Counters{Compiles: c.Compiles, DiskHits: c.DiskHits, WrongAnswers: c.WrongAnswers}, errors.Join(err, gpu.Close())
	})
}

// countInWorld counts the ticks of actors, whose check counts two.
func countInWorld(ctx context.Context, gpu *shadercache.GPU) error {
	count := func(ctx context.Context, w *World, ticks int) error {
		a, err := w.Spawn(ctx, "count", 40)
		if err != nil {
			return err
		}
		if _, err := w.Step(ctx, ticks); err != nil {
			return err
		}
		words, err := w.StateWords(ctx, a)
		if err == nil && words[0] != uint32(40+ticks) {
			err = fmt.Errorf("counted to %d in %d ticks", words[0], ticks)
		}
		return err
	}
	w, err := New(ctx, gpu.Executor, gpu.Cache, Options{
		Slots:    8,
		Handlers: []Handler{{Name: "count", Text: "void ON_MESSAGE(Message m) {}\nvoid ON_TICK() { actorSet(0u, actorGet(0u) + 1u); }"}},
		Check:    func(ctx context.Context, w *World) error { return count(ctx, w, 2) },
	})
	if err != nil {
		return err
	}
	defer w.Close()
	return count(ctx, w, 5)
}

// A driver that accepts binaries and computes wrong costs compiles. The handlers have a
// check.
func TestLoadedWorldGivesKnownAnswers(t *testing.T) {
	t.Parallel()
	gltest.Open(t)
	faultgl.TestKnownAnswers(t, "world", "#version", 4)
}
