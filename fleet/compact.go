package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/shader"
)

const (
	// manyPacks is the number of packs above which Push compacts: each costs a reader one
	// request, and on NVIDIA the merge of one slot.
	manyPacks = 8

	// grace is the time that packs stay in the store after no head lists them: readers of
	// an older head fetch them, and a push has written its pack before its head.
	grace = 24 * time.Hour
)

// Compact makes one pack of all packs of a driver.
func (r *Remote) Compact(ctx context.Context, fingerprint shader.Digest) (report PushReport, err error) {
	ctx, end := r.begin(ctx, "compact", &err)
	defer end()
	report, err = r.compact(ctx, fingerprint, func(h *Head) []Pack { return h.Packs })
	if err == nil {
		r.succeed()
	}
	return report, err
}

// compactMany compacts small packs where a head has many.
func (r *Remote) compactMany(ctx context.Context, of shader.Digest) error {
	_, err := r.compact(ctx, of, func(h *Head) []Pack {
		if len(h.Packs) <= manyPacks {
			return nil
		}
		return smallPacks(h)
	})
	return err
}

// smallPacks returns the packs of a head without those of which each is more than four times
// as large as all smaller ones together: to write such a pack again costs more than the
// request that it saves.
func smallPacks(h *Head) []Pack {
	var sum int64
	large := map[shader.Digest]bool{}
	for i, p := range slices.SortedStableFunc(slices.Values(h.Packs), bySize) {
		large[p.SHA256] = i >= manyPacks/2 && p.Size > 4*sum
		sum += p.Size
	}
	return without(h.Packs, large)
}

// maxMerged is the most files that compaction puts into one pack, whose manifest has a limit.
const maxMerged = 200_000

// mergeable returns of packs, in their order, the smallest that have so many files and bytes
// together. One that has too many stays apart, and keeps no others so.
func mergeable(packs []Pack, files int, room int64) []Pack {
	large := map[shader.Digest]bool{}
	for _, p := range slices.SortedStableFunc(slices.Values(packs), bySize) {
		n, bytes := 2*p.Programs+p.DriverFiles, max(p.Unpacked, p.Size) // a program has a binary and a source
		if large[p.SHA256] = n > files || bytes > room; !large[p.SHA256] {
			files, room = files-n, room-bytes
		}
	}
	return without(packs, large)
}

// without returns packs, in their order, but those that are large.
func without(packs []Pack, large map[shader.Digest]bool) []Pack {
	return slices.DeleteFunc(slices.Clone(packs), func(p Pack) bool { return large[p.SHA256] })
}

func bySize(a, b Pack) int { return cmp.Compare(a.Size, b.Size) }

// compact makes one pack of those that choose returns, if they are two or more.
func (r *Remote) compact(ctx context.Context, of shader.Digest, choose func(*Head) []Pack) (report PushReport, err error) {
	if err := r.checkWriter(); err != nil {
		return report, err
	}
	err = retryChanged(ctx, func() error {
		if _, _, err := r.readKeys(ctx); err != nil {
			return err
		}
		old, err := r.readToChange(ctx, of)
		if err == nil && r.mayBePutBack(old) {
			err = old.checkEnd(r.now())
		}
		if err != nil {
			return err
		}
		parts := mergeable(choose(old.Head), maxMerged, r.options.MaxBytes)
		if len(parts) < 2 {
			return nil
		}
		return r.compactPacks(ctx, old, parts, &report)
	})
	return report, err
}

// compactPacks writes a pack with the content of parts, and a head that lists it in their
// place.
func (r *Remote) compactPacks(ctx context.Context, old *fetched, parts []Pack, report *PushReport) error {
	made, err := r.mergePacks(ctx, old.Head, parts)
	if err != nil {
		return err
	}
	defer made.close()
	for _, p := range parts {
		made.Replaces = append(made.Replaces, p.SHA256)
	}
	head := *old.Head
	head.replace(made.Pack, r.now())
	if err := r.putPack(ctx, old.Fingerprint, made, nil); err != nil {
		return err
	}
	if err := r.writeHead(ctx, old, &head); err != nil {
		if errors.Is(err, ErrNotFound) { // a prune took an older copy: the head may list the pack, whose parts no next attempt has
			err = errors.Join(err, r.putPack(ctx, old.Fingerprint, made, nil))
		}
		return err
	}
	r.state.putItems(old.Fingerprint, made.SHA256, made.items)
	if s := r.state.driver(old.Fingerprint); s.has(made.Pack) {
		r.note(r.markInstalled(&head, s.Forgotten, made.SHA256))
	}
	report.Heads, report.Packs, report.Bytes, report.Sequence = 1, report.Packs+1, report.Bytes+made.Size, head.Sequence
	return nil
}

// retire takes packs out of the list. A prune leaves them for a day.
func (h *Head) retire(now time.Time, gone func(Pack) bool) {
	packs, retired := []Pack{}, slices.Clone(h.Retired)
	for _, p := range h.Packs {
		if gone(p) {
			retired = append(retired, Retired{p.SHA256, now.UTC().Truncate(time.Second)})
		} else {
			packs = append(packs, p)
		}
	}
	h.Packs, h.Retired = packs, retired
}

// retireAll takes all packs out of the list: as many as a head can say so of.
func (h *Head) retireAll(now time.Time) {
	h.retire(now, func(Pack) bool { return true })
	h.Retired = h.Retired[max(0, len(h.Retired)-maxPacks):]
}

// replace puts a pack in the place of those that it replaces.
func (h *Head) replace(made Pack, now time.Time) {
	isMade := func(p Pack) bool { return p.SHA256 == made.SHA256 }
	h.retire(now, func(p Pack) bool { return !isMade(p) && slices.Contains(made.Replaces, p.SHA256) })
	h.Packs = append([]Pack{made}, slices.DeleteFunc(h.Packs, isMade)...)
}

// dropRetired forgets packs that were taken out long ago: no head lists them, and Prune
// deletes them. It also forgets the oldest above the limit, and those that are listed again.
func (h *Head) dropRetired(now time.Time) {
	listed := h.digests()
	h.Retired = slices.DeleteFunc(slices.Clone(h.Retired), func(old Retired) bool {
		return listed[old.SHA256] || now.Sub(old.Time) > grace
	})
	h.Retired = h.Retired[max(0, len(h.Retired)-maxPacks):]
}

// mergePacks exports the content of several packs as one, with their sources.
func (r *Remote) mergePacks(ctx context.Context, h *Head, parts []Pack) (*madePack, error) {
	dir, remove, err := scratchDir()
	if err != nil {
		return nil, err
	}
	defer remove()
	items, err := r.unpack(ctx, h, parts, dir)
	if err != nil {
		return nil, err
	}
	made, err := exportPack(ctx, dir, pack.ExportOptions{Fingerprints: []shader.Digest{h.Fingerprint}})
	if err != nil {
		return nil, err
	}
	if lost := made.lacks(items); lost > 0 {
		made.close()
		return nil, fmt.Errorf("%d of %d items of %d packs were deleted or damaged in %s: nothing was changed", lost, len(items), len(parts), os.TempDir())
	}
	return made, nil
}

// lacks returns how many of items the pack does not have, and did not leave out: packs of before
// have lost entries of Mesa too.
func (m *madePack) lacks(items []pack.Item) (n int) {
	has := map[pack.Item]bool{}
	for _, item := range m.items {
		has[item] = true
	}
	for _, out := range m.leftOut {
		if strings.HasPrefix(out.Path, "driver/") {
			has[pack.ItemOf(out.Path)] = true
		}
	}
	for _, item := range items {
		if !has[item] {
			n++
		}
	}
	return n
}

// unpack imports packs into another directory, with all checks, and returns their items.
func (r *Remote) unpack(ctx context.Context, h *Head, packs []Pack, dir *binary.Dir) (items []pack.Item, err error) {
	if _, _, err := r.options.fit(packs, r.options.MaxBytes, math.MaxInt64); err != nil {
		return nil, err
	}
	open := func(ctx context.Context, p Pack) (io.ReadCloser, error) { return r.openPack(ctx, h.Fingerprint, p) }
	err = openPacks(ctx, packs, open, func(p Pack, body io.ReadCloser, err error) error {
		if err != nil {
			return err
		}
		report, err := r.importPack(h, p, body, dir, importOptions(h, p))
		if err != nil {
			return fmt.Errorf("pack %s: %w", p.SHA256.Short(), err)
		}
		items = append(items, report.Items...)
		return nil
	})
	return items, err
}

// scratchDir makes a temporary cache directory.
func scratchDir() (dir *binary.Dir, remove func(), err error) {
	path, err := os.MkdirTemp("", "shadercache-packs-*")
	if err != nil {
		return nil, nil, err
	}
	remove = func() { _ = os.RemoveAll(path) }
	if dir, err = binary.OpenDir(filepath.Join(path, "cache")); err != nil {
		remove()
	}
	return dir, remove, err
}
