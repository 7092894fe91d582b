package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/shader"
)

// StartReport is the result of Start.
type StartReport struct {
	Outcome Outcome       `json:"outcome"`
	Waited  time.Duration `json:"waited_ns"`
	Pull    PullReport    `json:"pull"`
	Err     error         `json:"-"`
}

// Outcome is how a start's use of the remote ended.
type Outcome string

// The outcomes.
const (
	Pulled    Outcome = "pulled"  // packs were installed before the first program
	Current   Outcome = "current" // nothing newer, or not asked
	Missing   Outcome = "missing" // the remote has nothing for this driver
	Late      Outcome = "late"    // the budget was spent: later misses find programs, the next start all
	Failed    Outcome = "failed"  // an error; never counted as missing
	BreakerOn Outcome = "breaker" // not asked, since it failed lately
	Leased    Outcome = "leased"  // nothing there; this process compiles for all others
	Disabled  Outcome = "off"
)

// recheck is the time after which a start looks for a newer head in the background.
const recheck = time.Minute

// Start brings the packs of a driver into the directory, before the driver's first load or
// compile. It returns when they are installed, or when the budget is spent: the pull then
// continues in the background, and serves later misses and the next start. It does nothing while the breaker
// is open, and does not wait where an earlier start has pulled: it then looks for a newer
// head in the background. It never returns an error: the report has it.
func (r *Remote) Start(ctx context.Context, driver binary.Fingerprint) StartReport {
	began := time.Now()
	report := r.start(ctx, driver)
	drivercache.Renew() // another process of the machine may have pulled meanwhile
	report.Waited = time.Since(began)
	report.Err = r.about("start with", report.Err)
	r.warn("the remote was not used", report.Err)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.report = report
	return report
}

// Report returns the report of Start, with what a pull that Start did not wait for has
// brought since, or its error.
func (r *Remote) Report() StartReport {
	r.mu.Lock()
	report, job := r.mu.report, r.mu.job
	r.mu.Unlock()
	if job == nil || report.Outcome == "" {
		return report
	}
	select {
	case <-job.done:
		report.Pull, report.Err = job.report.Pull, r.about("start with", job.report.Err)
	default:
	}
	return report
}

func (r *Remote) start(ctx context.Context, driver binary.Fingerprint) StartReport {
	if r.backend == nil {
		return StartReport{Outcome: Disabled}
	}
	r.mu.Lock()
	r.mu.started = &driver
	r.mu.Unlock()
	if r.options.SignKey == nil && !r.options.Verifies() && !r.options.Unsigned {
		return StartReport{Outcome: Failed, Err: refuse(classSignature, "no public key was given: set %s to the .pub file of the key that signs", keysVariable)}
	}
	if r.options.Unsigned {
		r.warn("heads are not verified: who can write to the remote decides what the driver runs", errors.New(acceptUnsigned+" is set"))
	}
	b := r.state.breaker()
	open := b.isOpen(r.now())
	if open && b.Class != classSlow {
		return StartReport{Outcome: BreakerOn}
	}
	j := &startJob{r: r, driver: driver, of: driver.Digest(), began: time.Now(), answer: r.headWait(), done: make(chan struct{}), head: make(chan struct{})}
	r.mu.Lock()
	r.mu.job = j
	r.mu.Unlock()
	known := r.state.driver(j.of)
	age := r.now().Sub(known.Checked)
	recent := age >= 0 && age < recheck
	switch present := holds(r.dir, driver); {
	case open:
		j.late, j.hurried = true, true
		r.goBackground(j.run)
		return StartReport{Outcome: Late}
	case present && recent && known.Missing:
		return StartReport{Outcome: Missing}
	case present && recent:
		return StartReport{Outcome: Current}
	case present && !known.Checked.IsZero():
		j.late = true
		r.goBackground(j.run)
		return StartReport{Outcome: Current}
	}
	return j.await(ctx)
}

// startJob is the pull of one start.
type startJob struct {
	r      *Remote
	driver binary.Fingerprint
	of     shader.Digest
	began  time.Time
	answer time.Duration   // the time for the head
	wait   context.Context // ends with it
	done   chan struct{}
	head   chan struct{} // closed when the head was read
	report StartReport   // valid when done is closed
	counts []func()      // of the pulls, for finish

	// mu is held during a merge of the driver's slots: when Start has returned, the driver
	// may use them.
	mu       sync.Mutex
	late     bool      // Start has returned
	hurried  bool      // set before the job runs: an earlier start found the remote slow: Close does not wait
	asked    time.Time // when the first request was made; zero: another process pulls
	answered bool      // the head was read
	absent   bool      // the store has answered that there is none
	missing  []Pack    // of that head, what is not installed
	gaveUp   bool      // before that
}

// patience returns how long Close waits: for a pull that has its head, and for what is done
// locally, its second; for the head, the rest of the budget.
func (j *startJob) patience() time.Duration {
	select {
	case <-j.done:
		return closeWait
	default:
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.hurried:
		return 0
	case j.answered:
		return closeWait
	}
	return time.Until(j.began.Add(j.answer))
}

// awaitEnd waits for idle as long as the patience of the job lasts. A nil job has none.
func (j *startJob) awaitEnd(deadline context.Context, idle <-chan struct{}) {
	for j != nil && j.patience() > 0 {
		select {
		case <-idle:
			return
		case <-deadline.Done():
			return
		case <-time.After(min(j.patience(), closeWait/20)):
		}
	}
}

// await runs the pull, and waits for it as long as it is allowed to.
func (j *startJob) await(ctx context.Context) StartReport {
	wait, cancel := context.WithTimeout(ctx, j.answer)
	j.wait = wait
	if !j.r.goBackground(func(background context.Context) { defer cancel(); j.run(background) }) {
		cancel()
		return StartReport{Outcome: Disabled}
	}
	if j.isDone(ctx) {
		return j.report
	}
	j.mu.Lock()
	j.late = true
	asked, answered, absent := !j.asked.IsZero(), j.answered, j.absent
	j.gaveUp = asked && !answered && !absent
	j.mu.Unlock()
	select {
	case <-j.done: // at the same moment
		return j.report
	default:
	}
	// The process may end before the pull does, without another word.
	switch {
	case absent: // another process compiles, and has the lease
	case answered && time.Since(j.began) >= j.answer:
		j.r.fail(classSlow, errLate)
	case answered: // what the packs save is not worth the wait
	case asked:
		j.r.fail(classUnreachable, errNoAnswer)
		if j.isAbsent() { // meanwhile
			j.r.succeed()
		} else if !j.isUnanswered() {
			j.r.fail(classSlow, errLate)
		}
	}
	return StartReport{Outcome: Late}
}

// isDone waits for the pull as long as it is allowed to, which the head changes.
func (j *startJob) isDone(ctx context.Context) bool {
	head := j.head
	for left := j.left(); left > 0; left = j.left() {
		select {
		case <-j.done:
			return true
		case <-head:
			head = nil
		case <-ctx.Done():
			return false
		case <-time.After(left):
		}
	}
	return false
}

var (
	errLate     = errors.New("the packs did not arrive within the budget of a start")
	errNoAnswer = fmt.Errorf("%w: no answer within the budget of a start", ErrUnreachable)
)

// run pulls, sets the report, and then does what Start need not wait for.
func (j *startJob) run(background context.Context) {
	j.pull(background)
	close(j.done)
	j.finish(background)
	// Also what a process pulled that ended before it had synced, but not before the system started anew.
	if unsynced := j.r.state.driver(j.of).Unsynced; j.report.Pull.Packs > 0 || !unsynced.IsZero() && j.r.isOfThisBoot(unsynced) {
		j.r.note(j.sync(unsynced))
	}
	if j.report.Pull.Packs > 0 {
		j.r.note(j.record())
	}
}

// written is the time after which the system has written files by itself (30 s, and what a busy disk takes):
// where each process ends before its sync does, as the end of the process waits for it, none would record it.
const written = 5 * time.Minute

// sync has what was installed reach the disk.
func (j *startJob) sync(unsynced time.Time) error {
	began := j.r.now()
	if j.report.Pull.Packs == 0 && began.Sub(unsynced) >= written {
		began = unsynced
	} else if err := j.r.syncVolume(j.r.dir.Path()); err != nil {
		return err
	}
	return j.r.state.updateDriver(j.of, func(s *driverState) {
		if s.Unsynced.Equal(unsynced) || !s.Unsynced.After(began) { // another process may have installed more since
			s.Unsynced = time.Time{}
		}
	})
}

// record adds the installed programs to the index of their store.
func (j *startJob) record() error {
	store, err := j.r.dir.Store(j.driver)
	if err != nil {
		return err
	}
	return errors.Join(store.Record([]binary.Use{{}}, binary.Counters{}), store.Close())
}

// pull pulls, or gets the lease, and sets the report.
func (j *startJob) pull(background context.Context) {
	r := j.r
	background, end := r.patient(background)
	defer end()
	pull, err := j.pullOnce(background)
	if errors.Is(err, ErrNotFound) {
		j.mu.Lock()
		j.absent = true
		j.mu.Unlock()
	}
	leased := false
	if errors.Is(err, ErrNotFound) && j.wait != nil && r.canLease(j.wait) {
		leased, err = r.awaitHead(j.wait, j.of)
		switch {
		case err == nil && !leased:
			pull, err = j.pullOnce(background)
		case err != nil && j.wait.Err() != nil:
			err = ErrNotFound // another process compiles, and this one waited its budget
		case err != nil:
			class := classify(err)
			j.counts = append(j.counts, func() { r.countPull(PullReport{}, class) })
		}
	}
	j.report = StartReport{Pull: pull}
	switch {
	case leased:
		j.report.Outcome, j.report.Err = Leased, ignoreMissing(err)
	case err == nil && pull.Packs > 0:
		j.report.Outcome = Pulled
	case err == nil:
		j.report.Outcome = Current
	case errors.Is(err, ErrNotFound):
		j.report.Outcome = Missing
	default:
		j.report.Outcome, j.report.Err = Failed, err
	}
}

// pullOnce pulls. What it counts is stored by finish.
func (j *startJob) pullOnce(ctx context.Context) (PullReport, error) {
	report, count, err := j.r.pullTimed(ctx, j.of, j.pullJob())
	j.counts = append(j.counts, count)
	return report, err
}

// finish counts the start, and sets the breaker.
func (j *startJob) finish(background context.Context) {
	r, err := j.r, j.report.Err
	for _, count := range j.counts {
		count()
	}
	if err == nil {
		r.succeed()
		c := Counters{Hits: 1}
		if j.report.Outcome == Missing || j.report.Outcome == Leased {
			c = Counters{Misses: 1}
		}
		r.count(c)
		return
	}
	if j.report.Outcome == Leased {
		return // an open breaker would keep Close from pushing what all others wait for
	}
	if background.Err() != nil && (j.hurried || !j.isUnanswered()) {
		return // Close ended it: it was slow, and did not fail
	}
	if class := classify(err); class != classLocal {
		r.fail(class, r.secret.Clean(err))
	}
}

// isUnanswered reports whether the store was asked, and has not answered.
func (j *startJob) isUnanswered() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return !j.asked.IsZero() && !j.answered && !j.absent
}

// isAbsent reports whether the store has answered that there is no head.
func (j *startJob) isAbsent() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.absent
}

func (j *startJob) pullJob() pullJob {
	return pullJob{
		bounds:     &pullBounds{room: j.r.options.MaxBytes},
		merge:      j.merge,
		unrecorded: true,
		hurried:    j.hurried,
		asked:      j.setAsked,
		answered:   j.setAnswered,
	}
}

// setAnswered records that the head was read. A remote that answers after all is slow: the
// next starts pull in the background.
func (j *startJob) setAnswered(missing []Pack) {
	j.mu.Lock()
	late, again := j.gaveUp, j.answered
	j.answered, j.missing = true, missing
	j.mu.Unlock()
	if !again {
		close(j.head)
	}
	if late {
		j.r.fail(classSlow, errLate)
	}
}

// setAsked records that the first request is made now.
func (j *startJob) setAsked() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.asked = time.Now()
}

// merge merges the driver's slots, so that this process reads all of them, as long as Start
// has not returned.
func (j *startJob) merge(driverDir string) (nvidia.Report, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return drivercache.Merge(driverDir)
}

// Unchanged records that this process compiled nothing, so that Close asks the remote for
// nothing either.
func (r *Remote) Unchanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.unchanged = true
}

// pushAtClose pushes what this process compiled, in mode read-write, and ends its lease.
func (r *Remote) pushAtClose() {
	r.mu.Lock()
	driver, unchanged, wait := r.mu.started, r.mu.unchanged, closeWait
	if r.mu.lease != nil {
		wait = max(wait, r.options.LeaseTime/3)
	}
	r.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	if driver == nil || r.options.Mode != ReadWrite {
		return
	}
	of := driver.Digest()
	defer r.endLease(of)
	if unchanged {
		return
	}
	if b := r.state.breaker(); b.isOpen(r.now()) || r.checkWriter() != nil {
		return
	}
	_, err := r.Push(ctx, PushOptions{Fingerprints: []shader.Digest{of}})
	r.warn("what was compiled was not pushed; shadercache push does it", err)
}
