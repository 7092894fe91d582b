package cache_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/shader"
)

// settlingDevice knows the machine code of its programs once its driver has written it.
type settlingDevice struct {
	*cachetest.Device
	settled atomic.Bool
}

func (d *settlingDevice) SettleDriverCache() { d.settled.Store(true) }

func (d *settlingDevice) Compile(ctx context.Context, sources []*shader.Source, done func(int, shader.Program, error)) {
	d.Device.Compile(ctx, sources, func(i int, p shader.Program, err error) {
		p.MachineCode = func() (entries []string, made bool) {
			if d.settled.Load() {
				entries = []string{"entry"}
			}
			return entries, true
		}
		done(i, p, err)
	})
}

// What is recorded of a program has the entries of the driver's cache, which are known once
// that is settled.
func TestTheDriverSettlesBeforeTheRecord(t *testing.T) {
	store := cachetest.NewStore()
	c, err := cache.New(&settlingDevice{Device: cachetest.NewDevice()}, cache.Options{Store: store})
	must(t, err)
	h, err := c.Get(context.Background(), source("a"))
	must(t, err)
	h.Release()
	must(t, c.Close())
	uses, _ := store.Recorded()
	if got := uses[source("a").Key()].DriverEntries; !slices.Equal(got, []string{"entry"}) {
		t.Errorf("entries %q", got)
	}
}
