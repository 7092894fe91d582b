package cache_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
)

// The store of the next cache on a directory has the tuning of the one before.
func TestTuningsOutliveTheCache(t *testing.T) {
	dir := t.TempDir()
	device := cachetest.NewDevice()
	for round := range 2 {
		c, err := cache.New(device, cache.Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Tunings().Tuning("p")
		if round == 0 && !errors.Is(err, binary.ErrNotFound) {
			t.Errorf("before PutTuning: %v", err)
		}
		if round == 1 && (err != nil || got.Candidates != 3) {
			t.Errorf("got %+v, %v", got, err)
		}
		if err := c.Tunings().PutTuning(binary.Tuning{Problem: "p", Choice: json.RawMessage("{}"), Candidates: 3}); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestTuningsWithoutAStore(t *testing.T) {
	f := newFixture(t, cache.Options{MemoryOnly: true})
	if store := f.cache.Store(); store != (cache.Nothing{}) {
		t.Errorf("the store is %T", store)
	}
	if err := f.cache.Tunings().PutTuning(binary.Tuning{Problem: "p"}); err != nil {
		t.Error(err)
	}
	if _, err := f.cache.Tunings().Tuning("p"); !errors.Is(err, binary.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
