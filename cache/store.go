package cache

import (
	"fmt"
	"os"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Store keeps program binaries, and what is known about programs, from process
// to process. *binary.Store, bound to the device's fingerprint, keeps them on
// disk. A store that keeps less embeds [NopStore].
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

	// Claim claims a program for compiling until release is called, and returns false
	// while another process, or another store of this one, has the claim. It does not
	// wait. Options.ShareCompiles uses it.
	Claim(key shader.Key) (release func(), claimed bool)

	// Reject moves the blob of key out of the way, because the driver refused
	// it, and keeps the reason.
	Reject(key shader.Key, reason string) error

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

	// Record adds uses and counters to the statistics. After an error nothing was
	// recorded, and the caller tries again later: at once if the error matches
	// binary.ErrBusy, which *binary.Store does not return.
	Record(uses []binary.Use, counters binary.Counters) error

	// PutCompiled keeps which sources this start compiled, of the latest 64 names.
	PutCompiled(sources []*shader.Source) error

	// Prune deletes blobs and driver cache files by age and size.
	Prune(options binary.PruneOptions) (binary.PruneReport, error)

	// Trim prunes the whole cache directory, unless that was done within the
	// last day; then it reports false.
	Trim(options binary.PruneOptions) (binary.PruneReport, bool, error)

	// PutSource keeps the text of a program, unless it is kept already.
	PutSource(src *shader.Source) error

	// Source reads a source that PutSource kept.
	Source(key shader.Key) (*shader.Source, error)

	// PutHistory keeps what a process asked for, and StartSet returns what processes of an
	// executable asked for, "" being any: the programs of most of them first.
	PutHistory(h binary.History) error
	StartSet(executable string) []binary.StartProgram

	// Missing lists the programs without a blob whose source is kept, the most
	// used first.
	Missing() ([]binary.MissingProgram, error)

	// PutFailure keeps the driver's log of a source that does not compile.
	PutFailure(src *shader.Source, log string) error

	// Failure returns the error that PutFailure kept, or nil.
	Failure(src *shader.Source) *shader.CompileError

	// PutTuning keeps the fastest choice for t.Problem.
	PutTuning(t binary.Tuning) error

	// Tuning returns what PutTuning kept. It returns binary.ErrNotFound, or an
	// error that matches binary.ErrDamaged.
	Tuning(problem string) (binary.Tuning, error)

	CrashMarks

	// Close releases the store. It records nothing.
	Close() error
}

// CrashMarks are the part of a [Store] that outlives a crash of the process: a
// mark for every program that the driver is working on, and the quarantine that
// follows from marks of dead processes. [CrashGuard] uses them.
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

	// SuspectDriverCache reports whether the driver's own cache was set aside since a
	// note was written, and otherwise has the next start set it aside.
	SuspectDriverCache(q binary.Quarantined) (cleared bool, err error)

	// SetCrashOutput calls set with the file that the signal which ends the
	// process is written to, as soon as that file is open.
	SetCrashOutput(set func(*os.File))
}

var (
	_ Store = (*binary.Store)(nil)
	_ Store = NopStore{}
)

// NopStore is a [Store] that keeps nothing: the store of a cache in memory only,
// and for embedding. Reads return binary.ErrNotFound, writes succeed.
type NopStore struct{}

// Get returns binary.ErrNotFound.
func (NopStore) Get(shader.Key) (*binary.Blob, error) { return nil, binary.ErrNotFound }

// Put does nothing.
func (NopStore) Put(*binary.Blob) error { return nil }

// Claim returns true.
func (NopStore) Claim(shader.Key) (release func(), claimed bool) { return func() {}, true }

// Reject does nothing.
func (NopStore) Reject(shader.Key, string) error { return nil }

// SourceOnly returns "".
func (NopStore) SourceOnly() string { return "" }

// Checked returns false.
func (NopStore) Checked(*binary.Blob) bool { return false }

// PutChecked does nothing.
func (NopStore) PutChecked(*binary.Blob) error { return nil }

// PutWrong does nothing.
func (NopStore) PutWrong(shader.Key, string, string) error { return nil }

// Wrong returns false.
func (NopStore) Wrong(shader.Key) (string, bool) { return "", false }

// Record does nothing.
func (NopStore) Record([]binary.Use, binary.Counters) error { return nil }

// PutHistory does nothing.
func (NopStore) PutHistory(binary.History) error { return nil }

// StartSet returns nothing.
func (NopStore) StartSet(string) []binary.StartProgram { return nil }

// PutCompiled does nothing.
func (NopStore) PutCompiled([]*shader.Source) error { return nil }

// Prune deletes nothing.
func (NopStore) Prune(binary.PruneOptions) (binary.PruneReport, error) {
	return binary.PruneReport{}, nil
}

// Trim deletes nothing and returns false.
func (NopStore) Trim(binary.PruneOptions) (binary.PruneReport, bool, error) {
	return binary.PruneReport{}, false, nil
}

// PutSource does nothing.
func (NopStore) PutSource(*shader.Source) error { return nil }

// Source returns binary.ErrNotFound.
func (NopStore) Source(shader.Key) (*shader.Source, error) { return nil, binary.ErrNotFound }

// Missing returns no programs.
func (NopStore) Missing() ([]binary.MissingProgram, error) { return nil, nil }

// PutFailure does nothing.
func (NopStore) PutFailure(*shader.Source, string) error { return nil }

// Failure returns nil.
func (NopStore) Failure(*shader.Source) *shader.CompileError { return nil }

// PutTuning does nothing.
func (NopStore) PutTuning(binary.Tuning) error { return nil }

// Tuning returns binary.ErrNotFound, wrapped.
func (NopStore) Tuning(problem string) (binary.Tuning, error) {
	return binary.Tuning{}, fmt.Errorf("cache: tuning of %s: %w", problem, binary.ErrNotFound)
}

// Recover returns an empty quarantine.
func (NopStore) Recover() (binary.Recovery, error) { return binary.Recovery{}, nil }

// Mark does nothing.
func (NopStore) Mark(binary.Action, shader.Key, string) {}

// Unmark does nothing.
func (NopStore) Unmark(binary.Action, shader.Key) {}

// ClearMarks does nothing.
func (NopStore) ClearMarks() {}

// Note returns false.
func (NopStore) Note(shader.Key) (binary.Quarantined, bool) { return binary.Quarantined{}, false }

// Refuse does nothing.
func (NopStore) Refuse(binary.Quarantined) error { return nil }

// SuspectDriverCache returns true.
func (NopStore) SuspectDriverCache(binary.Quarantined) (bool, error) { return true, nil }

// Lift does nothing.
func (NopStore) Lift(shader.Key) error { return nil }

// SetCrashOutput does not call set.
func (NopStore) SetCrashOutput(func(*os.File)) {}

// Close does nothing.
func (NopStore) Close() error { return nil }
