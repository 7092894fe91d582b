package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
	"github.com/shadercache/shadercache/trace"
)

// PullOptions select what Pull brings. Current or AnyDriver has to be set.
type PullOptions struct {
	Current   *binary.Fingerprint // this machine's driver
	AnyDriver bool                // all drivers, for image builds without a GPU
	Again     bool                // also packs that were installed before, and pruned since
	Progress  func(done, total int64)
}

// PullReport is the result of a pull.
type PullReport struct {
	Heads       int   `json:"heads"`
	Packs       int   `json:"packs"`   // fetched
	Present     int   `json:"present"` // packs that were installed before
	Bytes       int64 `json:"bytes"`   // fetched
	Programs    int   `json:"programs"`
	DriverFiles int   `json:"driver_files"`

	Saves time.Duration `json:"-"` // what the fetched programs took to compile where they were made

	took time.Duration // the wait for Bytes
}

// add adds another report.
func (p *PullReport) add(other PullReport) {
	p.Heads += other.Heads
	p.Packs += other.Packs
	p.Present += other.Present
	p.Bytes += other.Bytes
	p.Programs += other.Programs
	p.DriverFiles += other.DriverFiles
	p.Saves += other.Saves
	p.took += other.took
}

var errOff = errors.New("remote: the mode is off")

// Pull brings the packs of this machine's driver, or of all drivers, into the directory.
// It does not consult the breaker, and closes it after success. It returns an error that
// matches ErrNotFound where the remote has nothing for the driver, ErrRefused for a head
// or pack that is not used, or an error of the store. What was installed before an error,
// or beside heads and packs that are too large, or cannot be read, stays. With AnyDriver, heads that are
// refused, but for older ones than those seen, are left out with a warning where there are others.
//
// It verifies that a known key has signed the head, of this remote and driver, later than those
// seen before, and not ended (trust.go, key_list.go); that the packs fit MaxBytes; of each pack
// the size, digest and driver that the head has (pack/expected.go), and each file (pack/unpacker.go).
func (r *Remote) Pull(ctx context.Context, o PullOptions) (report PullReport, err error) {
	ctx, end := r.begin(ctx, "pull from", &err)
	defer end()
	var drivers []shader.Digest
	switch {
	case r.backend == nil:
		return report, errOff
	case o.AnyDriver:
		if drivers, err = r.listDrivers(ctx); err != nil {
			return report, err
		}
	case o.Current != nil:
		drivers = []shader.Digest{o.Current.Digest()}
	default:
		return report, errors.New("the driver of this machine is not known: set Current or AnyDriver")
	}
	unused, failed := 0, error(nil)
	job := pullJob{again: o.Again, listed: o.AnyDriver, progress: o.Progress, bounds: &pullBounds{room: r.options.MaxBytes}}
	if len(drivers) > 1 {
		job.wait = r.options.Patience / 2
	}
	for _, of := range drivers {
		one, count, err := r.pullTimed(ctx, of, job)
		count()
		report.add(one)
		class := classify(err)
		isHead := errors.Is(err, ErrNotFound) || one.Heads == 0 && errors.Is(err, ErrRefused) && class != classRollback
		switch {
		case isHead && unused < len(drivers)-1:
			unused++
			r.warn("the packs of a driver are not used", err)
		case err != nil && !errors.Is(err, errSpace) && job.bounds.end(ctx, class):
			return report, err
		default:
			failed = cmp.Or(failed, err)
		}
	}
	if failed == nil {
		r.succeed()
	}
	return report, failed
}

// pullBounds end a pull, of all drivers together.
type pullBounds struct {
	room   int64 // what may be unpacked still
	silent int   // heads and packs that did not come, each of which may take long
}

// count counts an error of a head or pack, and returns its class.
func (b *pullBounds) count(err error) (class string) {
	if class = classify(err); class == classUnreachable || class == classBusy {
		b.silent++
	}
	return class
}

// end reports whether a pull ends with an error of a class, without the heads and packs that follow.
func (b *pullBounds) end(ctx context.Context, class string) bool {
	return ctx.Err() != nil || class == classLocal || b.silent > parallelPacks
}

// pullJob are the options of one driver's pull.
type pullJob struct {
	again    bool
	listed   bool // the store has listed the head
	bounds   *pullBounds
	wait     time.Duration // for the head; 0 = until ctx ends
	progress func(done, total int64)
	merge    func(driverDir string) (nvidia.Report, error) // see pack.ImportOptions
	asked    func()                                        // called before the first request; may be nil
	answered func(missing []Pack)                          // called when the head was read; may be nil

	unrecorded bool // see pack.ImportOptions
	hurried    bool // it does not count as an error that ctx ended

	task      uint64 // of the pull's region
	forgotten uint64 // see markInstalled
}

// pullTimed is pullDriver. count stores the counters.
func (r *Remote) pullTimed(ctx context.Context, of shader.Digest, job pullJob) (report PullReport, count func(), err error) {
	answered, tell := false, job.answered
	job.answered = func(missing []Pack) {
		if answered = true; tell != nil {
			tell(missing)
		}
	}
	report, err = r.pullDriver(ctx, of, job)
	class := ""
	switch {
	case err == nil || errors.Is(err, ErrNotFound): // without a head it is a miss
	case errors.Is(err, errElsewhere) || job.hurried && ctx.Err() != nil:
	case answered && ctx.Err() != nil:
		class = classSlow
	default:
		class = classify(err)
	}
	return report, func() { r.countPull(report, class) }, err
}

// errElsewhere is returned when the time ends while another process pulls, which counts its
// own errors.
var errElsewhere = errors.New("another process pulls")

// headAttempts is the number of heads that a pull reads: one that it has read may list
// packs that were compacted and pruned meanwhile.
const headAttempts = 3

// lockPatience is the time that a pull waits for another one without a word.
const lockPatience = 2 * time.Second

// pullDriver fetches and installs the packs that the directory lacks.
func (r *Remote) pullDriver(ctx context.Context, of shader.Digest, job pullJob) (report PullReport, err error) {
	lock := filepath.Join(of.String(), pullLockName)
	waits := time.AfterFunc(lockPatience, func() {
		r.warn("another process pulls, and this one waits for it", fmt.Errorf("the lock is %s: fuser names its process", filepath.Join(r.state.path, lock)))
	})
	unlock, err := r.state.lock(ctx, lock, true)
	waits.Stop()
	if err != nil && ctx.Err() != nil {
		return report, fmt.Errorf("%w: %w", errElsewhere, err)
	}
	if err != nil {
		return report, err
	}
	defer unlock()
	region := trace.Begin(r.options.Tracer, trace.Remote, 0, trace.Pull)
	defer func() { endPull(&region, report, err) }()
	job.task = region.Task()
	if job.asked != nil {
		job.asked()
	}
	var last uint64
	for range headAttempts {
		reading := trace.Begin(r.options.Tracer, trace.Remote, job.task, trace.Head)
		limited, end := context.WithTimeout(ctx, cmp.Or(job.wait, time.Hour))
		head, err := r.readHead(limited, of, job.listed)
		end()
		reading.End()
		if errors.Is(err, ErrNotFound) {
			r.note(r.state.updateDriver(of, func(s *driverState) { s.Checked, s.Missing = r.now(), true }))
		}
		if err != nil {
			job.bounds.count(err)
			return report, err
		}
		job.answered(r.lacks(head.Head, job.again))
		if err := r.remember(head); err != nil {
			return report, err
		}
		part, err := r.installPacks(ctx, head, job)
		report.add(part)
		report.Heads = 1
		if !errors.Is(err, ErrNotFound) {
			return report, err
		}
		if head.Sequence == last {
			return report, refuse(classDamaged, "the head lists a pack that is not there: %v", err)
		}
		last = head.Sequence
	}
	return report, refuse(classDamaged, "the head changes faster than its packs can be fetched")
}

// installPacks fetches and installs those packs of a head that the directory lacks.
func (r *Remote) installPacks(ctx context.Context, head *fetched, job pullJob) (report PullReport, err error) {
	h := head.Head
	missing := r.lacks(h, job.again)
	r.noteCovered(h, missing)
	r.state.dropUnlisted(h) // before the space is read
	fits, total, large := r.options.fit(missing, job.bounds.room, r.free(h, missing))
	if !holds(r.dir, h.Driver) || len(fits) > 0 && !r.keeps(h) { // it does once one is installed: a next pull has to know which are
		r.note(r.state.updateDriver(h.Fingerprint, (*driverState).forgetPacks))
	}
	job.forgotten = r.state.driver(h.Fingerprint).Forgotten
	report.Present = len(h.Packs) - len(missing)
	if large != nil && !errors.Is(large, errSpace) {
		large = refuse(classDamaged, "%v", large)
	}
	counted := &progressReader{report: &report, total: total, progress: job.progress}
	open := func(ctx context.Context, p Pack) (*partialBody, error) { return r.openKept(ctx, h.Fingerprint, p) }
	var lost, unread error // of one pack: the others may be right
	waiting := time.Now()
	err = openPacks(ctx, fits, open, func(p Pack, body *partialBody, err error) error {
		defer func() { waiting = time.Now() }()
		var installed pack.ImportReport
		if err == nil { // another process may have seen a list of keys that revokes the signer's
			_, err = r.verified(small{data: head.object}, h.Fingerprint)
		}
		if err == nil {
			report.took += time.Since(waiting)
			region := trace.Begin(r.options.Tracer, trace.Remote, job.task, trace.Pack)
			installed, err = r.installKept(ctx, h, p, body, counted, job)
			region.End(trace.String("pack", p.SHA256.Short()), trace.Int("bytes", p.Size))
			switch {
			case errors.Is(err, pack.ErrNewer):
				err = fmt.Errorf("%w: %w", refuse(classNewer, "pack %s is of a later version: update shadercache here", p.SHA256.Short()), err)
			case errors.Is(err, pack.ErrRefused):
				err = fmt.Errorf("%w: %w", refuse(classDamaged, "pack %s is damaged in the store: push --replace, where its programs are, mends it", p.SHA256.Short()), err)
			case err != nil && !errors.Is(err, ErrRefused):
				err = fmt.Errorf("pack %s: %w", p.SHA256.Short(), err)
			}
		}
		switch {
		case err == nil:
			_ = os.Mkdir(r.dir.DriverDir(), 0o700) // see holds: a pack may have no machine code
			job.bounds.room -= max(p.Unpacked, p.Size)
			report.Packs++
			report.Programs += installed.Programs
			report.DriverFiles += installed.DriverFiles
			report.Saves += p.Saves
		case errors.Is(err, ErrNotFound):
			lost = cmp.Or(lost, err)
		case job.bounds.end(ctx, job.bounds.count(err)):
			return err
		default:
			unread = cmp.Or(unread, err)
		}
		return nil
	})
	return report, cmp.Or(err, lost, unread, large)
}

// installKept imports a pack while it is read. What is kept of it stays where the store sent
// no more. Kept bytes that are not of the pack, as after a power cut, are fetched again.
func (r *Remote) installKept(ctx context.Context, h *Head, p Pack, body *partialBody, counted *progressReader, job pullJob) (pack.ImportReport, error) {
	counted.from = body
	installed, err := r.installPack(ctx, h, p, counted, job)
	if body.resumed > 0 && errors.Is(err, pack.ErrRefused) {
		body.discard()
		var again io.ReadCloser
		if again, err = r.openPack(ctx, h.Fingerprint, p); err != nil {
			return installed, err
		}
		defer again.Close()
		counted.from = &partialBody{body: again}
		installed, err = r.installPack(ctx, h, p, counted, job)
	}
	if ended := ctx.Err() != nil || errors.Is(err, ErrUnreachable); err == nil || !ended {
		body.discard()
	}
	return installed, err
}

// lacks returns the packs of a head that are not installed.
func (r *Remote) lacks(h *Head, again bool) []Pack {
	if again || !r.keeps(h) {
		return h.Packs
	}
	s := r.state.driver(h.Fingerprint)
	return slices.DeleteFunc(slices.Clone(h.Packs), s.has)
}

// keeps reports whether the directory has what was installed. What was not synced before the system
// started anew may be empty files, which no driver replaces.
func (r *Remote) keeps(h *Head) bool {
	unsynced := r.state.driver(h.Fingerprint).Unsynced
	return holds(r.dir, h.Driver) && (unsynced.IsZero() || r.isOfThisBoot(unsynced))
}

// isOfThisBoot reports whether the system has not started anew since.
func (r *Remote) isOfThisBoot(since time.Time) bool {
	return since.After(r.now().Add(-osfile.Uptime()))
}

// installPack imports a pack while it is read.
func (r *Remote) installPack(ctx context.Context, h *Head, p Pack, from io.Reader, job pullJob) (pack.ImportReport, error) {
	o := importOptions(h, p)
	o.Merge, o.Unrecorded = job.merge, job.unrecorded
	report, err := r.importPack(h, p, from, r.dir, o)
	if busy := err; errors.Is(busy, pack.ErrBusy) {
		defer time.AfterFunc(lockPatience, func() { r.warn("the pull waits for another process", busy) }).Stop()
	}
	for errors.Is(err, pack.ErrBusy) && ctx.Err() == nil {
		time.Sleep(lockPoll)
		report, err = r.importPack(h, p, from, r.dir, o)
	}
	if err == nil && job.unrecorded {
		err = r.state.updateDriver(h.Fingerprint, func(s *driverState) { s.Unsynced = r.now() })
	}
	if err != nil {
		return report, err
	}
	return report, r.markInstalled(h, job.forgotten, p.SHA256)
}

// importOptions are those for a pack that has to be what its head says.
func importOptions(h *Head, p Pack) pack.ImportOptions {
	return pack.ImportOptions{
		Drivers:  []binary.Fingerprint{h.Driver},
		Expect:   &pack.Expected{SHA256: p.SHA256, Size: p.Size, Fingerprint: h.Fingerprint},
		MaxBytes: max(p.Unpacked, 1),
	}
}

// importPack imports a pack, and remembers its items.
func (r *Remote) importPack(h *Head, p Pack, from io.Reader, to *binary.Dir, o pack.ImportOptions) (pack.ImportReport, error) {
	report, err := pack.Import(from, to, o)
	if err == nil {
		r.state.putItems(h.Fingerprint, p.SHA256, report.Items)
	}
	return report, err
}

// markInstalled remembers packs, and forgets those that the head does not list. It remembers none
// where packs were forgotten since the caller began: what they brought may be deleted.
func (r *Remote) markInstalled(h *Head, forgotten uint64, packs ...shader.Digest) error {
	listed := h.digests()
	return r.state.updateDriver(h.Fingerprint, func(s *driverState) {
		if s.Forgotten != forgotten {
			packs = nil
		}
		var keep []shader.Digest
		for _, d := range append(s.Packs, packs...) {
			if listed[d] || h.replaces(d) {
				keep = append(keep, d)
				delete(listed, d)
			}
		}
		s.Packs = keep
	})
}

// replaces reports whether a pack was made from the pack with a digest.
func (h *Head) replaces(d shader.Digest) bool {
	return slices.ContainsFunc(h.Packs, func(p Pack) bool { return slices.Contains(p.Replaces, d) })
}

// progressReader counts the bytes of several packs.
type progressReader struct {
	from     *partialBody
	done     int64
	report   *PullReport // gets those that were not kept, and how long they took
	total    int64
	progress func(done, total int64)
}

func (p *progressReader) Read(b []byte) (int, error) {
	fetching, began := p.from.left == 0, time.Now()
	n, err := p.from.Read(b)
	p.done += int64(n)
	if fetching && n > 0 {
		p.report.Bytes += int64(n)
		p.report.took += time.Since(began)
	}
	if p.progress != nil && n > 0 {
		p.progress(min(p.done, p.total), p.total)
	}
	return n, err
}
