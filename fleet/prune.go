package fleet

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// PruneOptions select what Prune deletes.
type PruneOptions struct {
	Age    time.Duration    // of heads, since their last change; 0 = no head is deleted
	Keep   func(*Head) bool // reports those that are not deleted; nil: none of them
	DryRun bool
}

// PruneReport is the result of Prune.
type PruneReport struct {
	Heads []Head   `json:"heads"`
	Names []string `json:"objects"`
	Bytes int64    `json:"bytes"`
}

// Heads returns the heads of the remote, the newest first, with the error of those that are
// refused. It returns an error that matches errors.ErrUnsupported where the store cannot
// list.
func (r *Remote) Heads(ctx context.Context) (heads []Head, err error) {
	ctx, end := r.begin(ctx, "list", &err)
	defer end()
	drivers, err := r.listDrivers(ctx)
	if err != nil {
		return nil, err
	}
	var failed error
	for _, of := range drivers {
		f, err := r.readOldHead(ctx, of)
		if err != nil {
			failed = errors.Join(failed, ignoreMissing(err)) // a prune was faster
			continue
		}
		r.pin(f)
		heads = append(heads, *f.Head)
	}
	slices.SortStableFunc(heads, func(a, b Head) int { return b.Time.Compare(a.Time) })
	return heads, failed
}

// listDrivers returns the drivers that have a head.
func (r *Remote) listDrivers(ctx context.Context) ([]shader.Digest, error) {
	if r.backend == nil {
		return nil, errOff
	}
	infos, err := r.backend.List(ctx, "v1/")
	return driversOf(infos), err
}

// driversOf returns the drivers that have a head in a listing.
func driversOf(infos []Info) (drivers []shader.Digest) {
	for _, info := range infos {
		if of, rest, ok := parseName(info.Name); ok && rest == "head" {
			drivers = append(drivers, of)
		}
	}
	slices.SortFunc(drivers, func(a, b shader.Digest) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(drivers)
}

// parseName returns the driver in the name of an object, and what follows.
func parseName(name string) (of shader.Digest, rest string, ok bool) {
	below, found := strings.CutPrefix(name, "v1/")
	digits, rest, cut := strings.Cut(below, "/")
	return of, rest, found && cut && of.UnmarshalText([]byte(digits)) == nil
}

// ProbeFolder has the objects by which writers find out what a store can do. Those that are killed, or
// may not delete, leave theirs.
const ProbeFolder = "v1/probe/"

// Prune deletes the heads that are older than age, but for those of Keep, with their packs,
// packs that no head has listed for a day, and what probes have left for a day. A head that cannot be
// read, or is refused, stays with its packs.
func (r *Remote) Prune(ctx context.Context, o PruneOptions) (report PruneReport, err error) {
	ctx, end := r.begin(ctx, "prune", &err)
	defer end()
	report = PruneReport{Heads: []Head{}, Names: []string{}}
	if r.backend == nil {
		return report, errOff
	}
	infos, err := r.backend.List(ctx, "v1/")
	if err != nil {
		return report, err
	}
	objects := map[shader.Digest][]Info{}
	for _, info := range infos {
		if of, _, ok := parseName(info.Name); ok {
			objects[of] = append(objects[of], info)
		}
	}
	for of, list := range objects {
		failed := r.pruneDriver(ctx, of, list, o, &report)
		if errors.Is(failed, ErrNotFound) { // deleted just now, or the store does not show it
			r.warn("a head is listed and not there: its packs stay", failed)
			continue
		}
		err = errors.Join(err, failed)
	}
	err = errors.Join(err, r.pruneProbes(ctx, infos, o, &report))
	if err == nil {
		r.succeed()
	}
	return report, err
}

// pruneDriver deletes what is old of one driver. The head is read again before each pack is
// deleted: a push may have written the pack once more, and listed it, since the listing.
func (r *Remote) pruneDriver(ctx context.Context, of shader.Digest, list []Info, o PruneOptions, report *PruneReport) error {
	listed := slices.ContainsFunc(list, func(i Info) bool { return i.Name == headName(of) })
	head, err := r.readOldHead(ctx, of)
	if err != nil && (listed || !errors.Is(err, ErrNotFound)) {
		return err
	}
	if head != nil {
		if err := r.checkClock(head.clock); err != nil {
			return err
		}
	}
	expired := map[shader.Digest]bool{} // packs of a head that is deleted
	if head != nil && o.Age > 0 && r.now().Sub(head.Time) > o.Age && (o.Keep == nil || !o.Keep(head.Head)) {
		expired = head.digests()
		if list, err = r.deleteHead(ctx, head.Head, list, o, report); err != nil {
			return err
		}
		head, listed = nil, false
	}
	for _, info := range list {
		digits, isPack := strings.CutPrefix(info.Name, packsFolder(of))
		var pack shader.Digest
		if !isPack || pack.UnmarshalText([]byte(digits)) != nil || r.isUsed(head, pack) {
			continue
		}
		if !expired[pack] && !r.isLeft(info) {
			continue
		}
		if !o.DryRun {
			if head, err = r.readOldHead(ctx, of); err != nil && (listed || !errors.Is(err, ErrNotFound)) {
				return err
			}
			if r.isUsed(head, pack) {
				continue
			}
		}
		if err := r.deleteObject(ctx, info, o, report); err != nil {
			return err
		}
	}
	return nil
}

// pruneProbes deletes what probes have left. It ends at the first error, as there may be many.
func (r *Remote) pruneProbes(ctx context.Context, listed []Info, o PruneOptions, report *PruneReport) error {
	for _, info := range listed {
		if !strings.HasPrefix(info.Name, ProbeFolder) || !r.isLeft(info) {
			continue
		}
		if err := r.deleteObject(ctx, info, o, report); err != nil {
			return err
		}
	}
	return nil
}

// isLeft reports whether an object was written so long ago that its writer uses it no more.
func (r *Remote) isLeft(info Info) bool {
	return !info.Changed.IsZero() && r.now().Sub(info.Changed) >= grace
}

// isUsed reports whether a head lists a pack, or did so less than a day ago.
func (r *Remote) isUsed(head *fetched, pack shader.Digest) bool {
	return head != nil && (head.digests()[pack] || slices.ContainsFunc(head.Retired, func(old Retired) bool {
		return old.SHA256 == pack && r.now().Sub(old.Time) < grace
	}))
}

// deleteHead deletes the objects of a driver that are no packs, and returns the packs.
func (r *Remote) deleteHead(ctx context.Context, h *Head, list []Info, o PruneOptions, report *PruneReport) (packs []Info, err error) {
	for _, info := range list {
		if strings.HasPrefix(info.Name, packsFolder(h.Fingerprint)) {
			packs = append(packs, info)
		} else if err := r.deleteObject(ctx, info, o, report); err != nil {
			return nil, err
		} else if info.Name == headName(h.Fingerprint) {
			report.Heads = append(report.Heads, *h)
		}
	}
	return packs, nil
}

func (r *Remote) deleteObject(ctx context.Context, info Info, o PruneOptions, report *PruneReport) error {
	if !o.DryRun {
		if err := r.backend.Delete(ctx, info.Name); err != nil {
			return err
		}
	}
	report.Names = append(report.Names, info.Name)
	report.Bytes += min(max(info.Size, 0), maxPackBytes)
	return nil
}
