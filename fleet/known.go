package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/shader"
)

// known returns what the packs of a head have, and what must not be pushed. It takes packs
// that are lost or damaged out of the head, so that their programs are pushed again.
func (p *pusher) known(ctx context.Context, h *Head) (map[pack.Item]struct{}, error) {
	known, lost := map[pack.Item]struct{}{}, map[shader.Digest]bool{}
	var mu sync.Mutex
	asking, asked := errgroup.WithContext(ctx)
	asking.SetLimit(parallelPacks)
	for _, listed := range h.Packs {
		asking.Go(func() error {
			items, err := p.r.packItems(asked, h, listed)
			if isLost(err) { // once may be the network's fault, or that of a server that starts anew
				_ = pause(asked, time.Second/10)
				items, err = p.r.packItems(asked, h, listed)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case errors.Is(err, pack.ErrNewer):
				return fmt.Errorf("others can read it: update shadercache here: %w", err)
			case isLost(err):
				p.r.warn("a pack of the head is lost or damaged, and is replaced", err)
				lost[listed.SHA256] = true
				return nil
			case err == nil:
				for _, i := range items {
					known[i] = struct{}{}
				}
			}
			return err
		})
	}
	if err := asking.Wait(); err != nil {
		return nil, err
	}
	h.retire(p.r.now(), func(listed Pack) bool { return lost[listed.SHA256] })
	return known, p.addUnwanted(known)
}

// isLost reports whether an error is that of a pack that is lost or damaged.
func isLost(err error) bool {
	return errors.Is(err, ErrNotFound) || errors.Is(err, pack.ErrRefused) || errors.Is(err, ErrRefused)
}

// addUnwanted adds what no pack has: programs in quarantine, and the files that running
// processes map.
func (p *pusher) addUnwanted(known map[pack.Item]struct{}) error {
	store, err := p.r.dir.Store(p.driver)
	if err != nil {
		return err
	}
	for _, q := range store.Quarantined() {
		key := q.Key.String()
		known[pack.ItemOf(p.driver.DirName()+"/blobs/"+key[:2]+"/"+key+".bin")] = struct{}{}
	}
	known[pack.ItemOf("driver/mesa/mesa_shader_cache/"+mesa.Index)] = struct{}{}
	known[pack.ItemOf("driver/mesa/mesa_shader_cache/marker")] = struct{}{}
	return store.Close()
}
