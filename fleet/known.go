package fleet

import (
	"context"
	"errors"
	"fmt"
	"math"
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

// packItems returns the items of a pack, which has to be there. It fetches the pack where they
// are not known here.
func (r *Remote) packItems(ctx context.Context, h *Head, p Pack) ([]pack.Item, error) {
	if items, known := r.state.items(h.Fingerprint, p.SHA256); known {
		return items, r.hasPack(ctx, h.Fingerprint, p)
	}
	if _, _, err := r.options.fit([]Pack{p}, r.options.MaxBytes, math.MaxInt64); err != nil {
		return nil, err
	}
	body, err := r.openPack(ctx, h.Fingerprint, p)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	items, err := pack.Items(body, importOptions(h, p))
	if err != nil {
		return nil, fmt.Errorf("pack %s: %w", p.SHA256.Short(), err)
	}
	r.state.putItems(h.Fingerprint, p.SHA256, items)
	return items, nil
}

// noteCovered remembers the packs that only replace installed ones.
func (r *Remote) noteCovered(h *Head, missing []Pack) {
	if len(missing) == len(h.Packs) {
		return
	}
	s := r.state.driver(h.Fingerprint)
	var covered []shader.Digest
	for _, p := range h.Packs {
		if s.has(p) && !s.hasDigest(p.SHA256) {
			covered = append(covered, p.SHA256)
			r.coverItems(h.Fingerprint, p)
		}
	}
	if len(covered) > 0 {
		r.note(r.markInstalled(h, s.Forgotten, covered...))
	}
}

// coverItems remembers that a pack has what those have that it replaces, so that a push need not fetch it.
func (r *Remote) coverItems(of shader.Digest, p Pack) {
	var items []pack.Item
	for _, old := range p.Replaces {
		part, known := r.state.items(of, old)
		if !known {
			return
		}
		items = append(items, part...)
	}
	r.state.putItems(of, p.SHA256, items)
}
