package cache

import (
	"context"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Trier has another process get programs from the driver, so that one which crashes the
// driver, or hangs it, does no harm here. *isolate.Trier is the real one.
type Trier interface {
	// Try has another process load or compile and prime each source, and store what it
	// compiled in the directory of the cache. It calls done exactly once for each, one at a
	// time, in any order. A source gets limit at most; the process that needs longer is
	// killed.
	Try(ctx context.Context, sources []*shader.Source, limit time.Duration, done func(i int, t Trial))
}

// Trial is what happened to a source in another process.
type Trial struct {
	Verdict Verdict
	Signal  string // of Crashed: such as "SIGSEGV: segmentation fault"
	Err     error  // of Untried: why
}

// Verdict is the result of a trial.
type Verdict uint8

// The verdicts.
const (
	Untried        Verdict = iota // no process could try it, or its end had another cause
	Survived                      // the driver made the program, or refused it with an error
	Crashed                       // the driver crashed, with an empty cache of its own too
	Hung                          // it took too long or too much memory, or ended the process
	BadDriverCache                // the driver crashed of its own cache, which is set aside now
)

// A suspect may need firstTrialLimit in its first trial, and twice the time after each one
// that ran out of it, so that a program that merely takes long gets through.
const (
	firstTrialLimit = 30 * time.Second
	maxTrialLimit   = 16 * time.Minute
)

// trial is a suspect on its way to a verdict.
type trial struct {
	src  *shader.Source
	note binary.Quarantined
	done chan struct{}
}

// startTrial queues the trial of a suspect. Trials run in batches, one process at a time.
func (g *CrashGuard) startTrial(src *shader.Source) *trial {
	g.mu.Lock()
	defer g.mu.Unlock()
	t := &trial{src: src, note: g.mu.notes[src.Key()].Quarantined, done: make(chan struct{})}
	g.mu.trials = append(g.mu.trials, t)
	if !g.mu.trying {
		g.mu.trying = true
		g.owner.background.Go(g.runTrials)
	}
	return t
}

func (g *CrashGuard) runTrials() {
	for {
		g.mu.Lock()
		batch := g.mu.trials
		g.mu.trials = nil
		g.mu.trying = len(batch) > 0
		g.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		g.runBatch(batch)
	}
}

// runBatch tries the suspects of a batch. All of them may need as long as the slowest.
func (g *CrashGuard) runBatch(batch []*trial) {
	sources := make([]*shader.Source, len(batch))
	var limit time.Duration
	for i, t := range batch {
		sources[i] = t.src
		limit = max(limit, min(firstTrialLimit<<min(t.note.Hangs, 8), maxTrialLimit))
	}
	g.owner.log.Info("programs that were in the driver when a process ended are tried in a process of their own", "programs", len(batch))
	g.trier.Try(context.Background(), sources, limit, func(i int, result Trial) {
		if t := batch[i]; !isClosed(t.done) {
			g.conclude(t, result)
			close(t.done)
		}
	})
	for _, t := range batch {
		if !isClosed(t.done) {
			close(t.done) // not tried: this process does it alone
		}
	}
	g.readNotes() // the deaths of the processes, which recorded in which step they died
}

// conclude records the verdict on a suspect.
func (g *CrashGuard) conclude(t *trial, result Trial) {
	g.owner.count(&g.owner.mu.counters.total.Trials)
	q := t.note
	q.Key, q.Name, q.Suspect = t.src.Key(), t.src.Name(), false
	switch result.Verdict {
	case Survived:
		g.survived(t.src.Key())
		return
	case Crashed:
		q.Action, q.Signal = binary.ActionCompile, result.Signal
		q.Reason = "a child process crashed (" + result.Signal + ") while the driver had it, with an empty driver cache too"
	case Hung:
		q.Action, q.Hangs = binary.ActionCompile, q.Hangs+1
		q.Reason = "a child process hung while the driver had it and was killed"
	case BadDriverCache:
		g.survived(t.src.Key())
		q.Action, q.Time = binary.ActionCompile, g.owner.clock.wall()
		q.Reason = "the driver crashes of its own cache, which was set aside; this process has it loaded, the next one starts without"
		g.refuseHere(q)
		return
	default:
		g.owner.log.Warn("a suspect could not be tried in a child process", "name", q.Name, "error", result.Err)
		if q = g.refusedUntilAside(t.note); !q.Suspect {
			g.refuseHere(q)
		} // else this process tries it alone
		return
	}
	q.Time = g.owner.clock.wall()
	g.owner.count(&g.owner.mu.counters.total.Quarantined)
	if noted, ok := g.owner.store.Note(q.Key); ok && noted.Refused() && noted.Hangs >= q.Hangs {
		g.refuseHere(noted) // the trier wrote it, with the reason
		return
	}
	g.owner.checkStore("writing a quarantine", g.owner.store.Refuse(q))
	g.refuseHere(q)
}

// survived ends the suspicion against a program that another process survived. That
// process has lifted it, unless it found another reason for a note.
func (g *CrashGuard) survived(key shader.Key) {
	q, ok := g.owner.store.Note(key)
	if !ok || q.Suspect {
		g.clearSuspect(key)
		return
	}
	g.addNote(q)
}

// refuseHere refuses a program in this process, until q ends.
func (g *CrashGuard) refuseHere(q binary.Quarantined) {
	g.mu.Lock()
	g.mu.notes[q.Key] = note{q, endedByTrials}
	g.mu.Unlock()
	g.logRefusal(q)
}
