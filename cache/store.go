package cache

import (
	"fmt"
	"os"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Store keeps program binaries from process to process. *binary.Store, bound to the
// device's fingerprint, keeps them on disk.
//
// What else a store may keep are powers of their own: [CrashMarks], [Claims], [Verdicts],
// [Sources], [Housekeeping] and [Tunings]. *binary.Store has all of them. Where a store lacks
// one, nothing of it is kept: what is written there is lost without an error, and what is
// read is not found.
//
// Methods may be called from any goroutine and may be slow: the cache never
// holds its lock across them.
type Store interface {
	// Get reads the blob of a key. It returns binary.ErrNotFound, or an error
	// that matches binary.ErrDamaged when the bytes on disk are not those that
	// were written; a damaged blob has been rejected already.
	Get(key shader.Key) (*binary.Blob, error)

	// Put writes a blob, replacing any blob of the same key.
	Put(blob *binary.Blob) error

	// Reject moves the blob of key out of the way, because the driver refused
	// it, and keeps the reason.
	Reject(key shader.Key, reason string) error

	// Record adds uses and counters to the statistics. After an error nothing was
	// recorded, and the caller tries again later.
	Record(uses []binary.Use, counters binary.Counters) error

	// Close releases the store. It records nothing.
	Close() error
}

// Claims keep processes from compiling the same program at the same time. See
// Options.ShareCompiles.
type Claims interface {
	// Claim claims a program for compiling until release is called, and returns false
	// while another process, or another store of this one, has the claim. It does not
	// wait.
	Claim(key shader.Key) (release func(), claimed bool)
}

// Verdicts are what was found out about programs and about the driver.
type Verdicts interface {
	// SourceOnly returns why binaries of the driver are not worth using, or "".
	SourceOnly() (reason string)

	// Checked reports whether PutChecked was called for a blob: its program has
	// passed the check of its source.
	Checked(blob *binary.Blob) bool
	PutChecked(blob *binary.Blob) error

	// PutWrong keeps that a program gave a wrong answer right after it was compiled, and
	// why. Wrong returns the reason, and false where PutChecked was called later, or
	// neither.
	PutWrong(key shader.Key, name, reason string) error
	Wrong(key shader.Key) (reason string, wrong bool)

	// PutFailure keeps the driver's log of a source that does not compile. Failure
	// returns the error, or nil.
	PutFailure(src *shader.Source, log string) error
	Failure(src *shader.Source) *shader.CompileError
}

// Sources are the texts of programs, and which of them processes used.
type Sources interface {
	// PutSource keeps the text of a program, unless it is kept already. Source reads it.
	PutSource(src *shader.Source) error
	Source(key shader.Key) (*shader.Source, error)

	// Missing lists the programs without a blob whose source is kept, the most
	// used first.
	Missing() ([]binary.Entry, error)

	// PutCompiled keeps which sources this start compiled, of the latest 64 names.
	PutCompiled(sources []*shader.Source) error

	// PutHistory keeps what a process asked for, and StartSet returns what processes of an
	// executable asked for, "" being any: the programs of most of them first.
	PutHistory(opened time.Time, executable string, asked []binary.Asked) error
	StartSet(executable string) []binary.Asked
}

// Housekeeping deletes what is old, too much or under suspicion.
type Housekeeping interface {
	// Trim prunes the whole cache directory, unless that was done within the
	// last day; then it reports false.
	Trim(options binary.PruneOptions) (binary.PruneReport, bool, error)

	// SuspectDriverCache reports whether the driver's own cache was set aside since a
	// note was written, and otherwise has the next start set it aside.
	SuspectDriverCache(q binary.Quarantined) (cleared bool, err error)
}

// Tunings keep the fastest choices for one driver.
type Tunings interface {
	// Tuning returns what PutTuning kept. It returns binary.ErrNotFound, or an
	// error that matches binary.ErrDamaged.
	Tuning(problem string) (binary.Tuning, error)

	// PutTuning keeps the fastest choice for t.Problem.
	PutTuning(t binary.Tuning) error
}

// CrashMarks outlive a crash of the process: a mark for every program that the driver is
// working on, and the quarantine that follows from marks of dead processes. [CrashGuard]
// uses them.
type CrashMarks interface {
	// Recover makes suspects of the programs that dead processes left marked, and
	// returns what is suspect or refused. The cache calls it before it calls the
	// device, and after a trial.
	Recover() (binary.Recovery, error)

	// Mark records that the driver starts to work on a program, Unmark that it
	// has finished.
	Mark(action binary.Action, key shader.Key, name string)
	Unmark(action binary.Action, key shader.Key)

	// ClearMarks removes all marks and makes later calls of Mark do nothing. It
	// does not wait for the driver.
	ClearMarks()

	// Note returns what Recover found for a program, and false where it found nothing.
	Note(key shader.Key) (binary.Quarantined, bool)

	// Refuse writes the quarantine of a program that was tried, and Lift ends one.
	Refuse(q binary.Quarantined) error
	Lift(key shader.Key) error

	// SetCrashOutput calls set with the file that the signal which ends the
	// process is written to, as soon as that file is open.
	SetCrashOutput(set func(*os.File))
}

var (
	_ Store        = (*binary.Store)(nil)
	_ Claims       = (*binary.Store)(nil)
	_ Verdicts     = (*binary.Store)(nil)
	_ Sources      = (*binary.Store)(nil)
	_ Housekeeping = (*binary.Store)(nil)
	_ Tunings      = (*binary.Store)(nil)
	_ CrashMarks   = (*binary.Store)(nil)
)

// powers are a store with each of its powers; one that it lacks is that of nothing.
type powers struct {
	Store
	Claims
	Verdicts
	Sources
	Housekeeping
	Tunings
	CrashMarks
}

func powersOf(s Store) *powers {
	return &powers{s, power[Claims](s), power[Verdicts](s), power[Sources](s), power[Housekeeping](s), power[Tunings](s), power[CrashMarks](s)}
}

func power[P any](s Store) P {
	if p, ok := s.(P); ok {
		return p
	}
	return any(nothing{}).(P)
}

// Store returns the store of the cache: one that keeps nothing when it works in memory only.
func (c *Cache) Store() Store { return c.store.Store }

// Tunings returns those of the store.
func (c *Cache) Tunings() Tunings { return c.store.Tunings }

// nothing is a store with every power that keeps nothing: that of a cache in memory only.
type nothing struct{}

func (nothing) Get(shader.Key) (*binary.Blob, error)           { return nil, binary.ErrNotFound }
func (nothing) Put(*binary.Blob) error                         { return nil }
func (nothing) Reject(shader.Key, string) error                { return nil }
func (nothing) Record([]binary.Use, binary.Counters) error     { return nil }
func (nothing) Close() error                                   { return nil }
func (nothing) Claim(shader.Key) (release func(), got bool)    { return func() {}, true }
func (nothing) SourceOnly() string                             { return "" }
func (nothing) Checked(*binary.Blob) bool                      { return false }
func (nothing) PutChecked(*binary.Blob) error                  { return nil }
func (nothing) PutWrong(shader.Key, string, string) error      { return nil }
func (nothing) Wrong(shader.Key) (string, bool)                { return "", false }
func (nothing) PutFailure(*shader.Source, string) error        { return nil }
func (nothing) Failure(*shader.Source) *shader.CompileError    { return nil }
func (nothing) PutSource(*shader.Source) error                 { return nil }
func (nothing) Source(shader.Key) (*shader.Source, error)      { return nil, binary.ErrNotFound }
func (nothing) Missing() ([]binary.Entry, error)               { return nil, nil }
func (nothing) PutCompiled([]*shader.Source) error             { return nil }
func (nothing) StartSet(string) []binary.Asked                 { return nil }
func (nothing) Recover() (r binary.Recovery, err error)        { return r, nil }
func (nothing) Mark(binary.Action, shader.Key, string)         {}
func (nothing) Unmark(binary.Action, shader.Key)               {}
func (nothing) ClearMarks()                                    {}
func (nothing) Note(shader.Key) (q binary.Quarantined, b bool) { return q, false }
func (nothing) Refuse(binary.Quarantined) error                { return nil }
func (nothing) Lift(shader.Key) error                          { return nil }
func (nothing) SetCrashOutput(func(*os.File))                  {}
func (nothing) PutTuning(binary.Tuning) error                  { return nil }

func (nothing) PutHistory(time.Time, string, []binary.Asked) error { return nil }

func (nothing) Trim(binary.PruneOptions) (r binary.PruneReport, done bool, err error) {
	return r, false, nil
}

// SuspectDriverCache reports that there is nothing to wait for.
func (nothing) SuspectDriverCache(binary.Quarantined) (bool, error) { return true, nil }

func (nothing) Tuning(problem string) (t binary.Tuning, err error) {
	return t, fmt.Errorf("cache: tuning of %s: %w", problem, binary.ErrNotFound)
}
