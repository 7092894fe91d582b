package binary

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// The programs that were in flight when a process ended have a note for quarantineTime, in
// quarantine/<key>.json of the store:
//
//	in flight         the process ended                consequence
//	anything          not of a driver's signal         suspect
//	several programs  of a driver's signal             suspects
//	one load          of a driver's signal             the blob is rejected; neither loaded nor stored
//	one read          of a driver's signal             not stored
//	one compile       of a driver's signal             suspect, with the signal
//	one compile       the same again, and the driver's refused, with *Quarantined
//	                  cache was set aside since
//	one first job     as one compile                   as one compile
//	one first job     no signal                        Recovery.Unrecorded
//	one run           of a driver's signal, or for     refused
//	                  the second time
//
// One program in several actions counts as in the last of read, load, compile, first job
// and run.
//
// A driver's signal is SIGSEGV, SIGABRT, SIGFPE, SIGILL or SIGTRAP, which the process
// recorded itself (SetCrashOutput) or its parent (RecordCrash). A mark alone is no
// evidence: processes are killed more often than drivers crash. It makes a suspect, which
// is not refused but tried where a crash harms nothing: package cache does that, and calls
// Refuse or Lift with the result. The refusal of a run costs the tuner one candidate, so
// that it needs less evidence. A restart of the machine ends no note: drivers hang
// machines too.
const (
	quarantineName = "quarantine"

	// quarantineTime is how long a note is valid.
	quarantineTime = 24 * time.Hour

	// A program that hung is refused for firstHangTime, and for twice the time after each
	// further trial in which it hangs.
	firstHangTime = time.Minute
	maxHangTime   = time.Hour
)

// Quarantined describes a program that was in flight when a process ended. As an error, which
// matches [ErrQuarantined], it says that its source is not given to the driver.
type Quarantined struct {
	Key     shader.Key `json:"key"`             // of the program
	Name    string     `json:"name"`            // its label
	Action  Action     `json:"action"`          // what the driver did: compile, load, read, dispatch or run
	Suspect bool       `json:"suspect"`         // not refused, but tried where a crash harms nothing
	Signal  string     `json:"signal"`          // the driver's signal that ended a process; "" = none was seen
	Hangs   int        `json:"hangs,omitempty"` // trials that ran out of time
	Reason  string     `json:"reason"`          // what was seen
	Time    time.Time  `json:"time"`            // when the note was written
}

var notes = perKey[Quarantined]{folder: quarantineName, ext: ".json", limit: 64 << 10,
	decode: decodeKeyed(func(q Quarantined) shader.Key { return q.Key })}

// Refused reports whether the source, or the tuner's candidate, must not reach the driver.
func (q Quarantined) Refused() bool {
	return q.Action != ActionLoad && q.Action != ActionRead && !q.Suspect
}

func (q *Quarantined) Error() string {
	return fmt.Sprintf("shader %q (%s) is in quarantine until %s: %s; to try it before, use \"shadercache verify --repair\" or Store.Lift",
		q.Name, q.Key.Short(), q.Until().Local().Format(time.DateTime), q.Reason)
}

func (q *Quarantined) Is(target error) bool { return target == ErrQuarantined }

// IsOfBinary reports whether the driver crashed while it loaded the program's binary, or returned
// it: until the quarantine ends the program is compiled, and no binary of it is used.
func (q Quarantined) IsOfBinary() bool { return !q.Suspect && !q.Refused() }

// Until returns when the quarantine ends. A program that hung is a suspect then.
func (q Quarantined) Until() time.Time {
	if q.Hangs > 0 && !q.Suspect {
		return q.Time.Add(min(firstHangTime<<min(q.Hangs-1, 16), maxHangTime))
	}
	return q.Time.Add(quarantineTime)
}

// Consequence describes what the note means for a request.
func (q Quarantined) Consequence() string {
	until := " until " + q.Until().Local().Format(time.DateTime)
	switch {
	case q.Suspect:
		return "suspect, to be tried in a process of its own"
	case q.Refused():
		return "in quarantine" + until
	}
	return "compiled at every start" + until
}

// At returns q as it is at a time: a program that hung is refused for a while, then a
// suspect again.
func (q Quarantined) At(now time.Time) Quarantined {
	q.Suspect = q.Suspect || q.Hangs > 0 && !now.Before(q.Until())
	return q
}

// isActive reports whether the note is valid. A time in the future was written before the
// clock was set back.
func (q Quarantined) isActive(now time.Time) bool {
	age := now.Sub(q.Time)
	return age > -quarantineTime && age < quarantineTime
}

// Recovery is the result of Recover.
type Recovery struct {
	Found  []Quarantined // in flight in processes that ended since the last call
	Active []Quarantined // every program with a note, sorted by name, then key

	// Unrecorded reports that a process ended in the first job of a program and recorded
	// no signal. That is no evidence; recording crashes in this process gives some.
	Unrecorded bool
}

// Recover finds processes that ended with programs in flight and writes the notes of those
// programs. Call it before the driver gets a program. It reads two directories, which
// are empty as a rule. With an error it returns what it has found.
func (s *Store) Recover() (Recovery, error) {
	var r Recovery
	err := crashlog.Recover(s.marks.Dir, s.dir.now(), func(left crashlog.Remains) error {
		if left.Crash != "" {
			left.Marks = onePerProgram(left.Marks)
		}
		for m, name := range left.Marks {
			if m.Action == crashlog.Dispatch && left.Crash == "" {
				r.Unrecorded = true
				continue // most processes that are killed are busy with a program
			}
			q := s.classify(m, cutName(name), left)
			if err := s.quarantine(q); err != nil {
				return err
			}
			r.Found = append(r.Found, q)
		}
		return nil
	})
	slices.SortFunc(r.Found, compareQuarantined)
	r.Active = s.Quarantined()
	return r, wrap("recover", err)
}

// onePerProgram returns one mark of each program, which has one note: that of the action
// about which a crash says most.
func onePerProgram(marks map[crashlog.Mark]string) map[crashlog.Mark]string {
	most := map[shader.Key]int{}
	for m := range marks {
		most[m.Key] = max(most[m.Key], slices.Index(crashlog.Actions, m.Action))
	}
	one := map[crashlog.Mark]string{}
	for key, action := range most {
		m := crashlog.Mark{Action: crashlog.Actions[action], Key: key}
		one[m] = marks[m]
	}
	return one
}

// classify returns the consequence of a mark that a process left, perhaps with others.
func (s *Store) classify(m crashlog.Mark, name string, left crashlog.Remains) Quarantined {
	now := s.dir.now().UTC()
	before, known := s.Note(m.Key)
	if known && before.Refused() {
		return before // a process that did not know it was in the driver
	}
	q := Quarantined{Key: m.Key, Name: name, Action: Action(m.Action), Suspect: true, Hangs: before.Hangs, Time: now}
	q.Reason = describeEnd(m, left)
	again := known && before.Action == q.Action
	// Loads and compiles beside a first job are tried in a child, and are suspects no more at the second crash.
	if len(left.Marks) == 1 || again && q.Action == ActionDispatch && left.Dispatches() == 1 {
		q.Signal = left.Crash
	}
	switch {
	case q.Action == ActionRun:
		q.Suspect = len(left.Marks) > 1 || q.Signal == "" && !again
	case q.Signal == "":
		q.Signal = before.Signal
		return q
	case q.Action == ActionLoad || q.Action == ActionRead:
		q.Suspect = false
	case before.Signal != "":
		q.Suspect = !drivercache.AsideSince(s.dir.DriverDir()).After(before.Time)
	}
	if !q.Suspect && again {
		q.Reason += ", not for the first time"
	}
	return q
}

// works has what the driver does in each action.
var works = map[Action]string{
	ActionLoad: "loaded", ActionCompile: "compiled", ActionRead: "returned the binary of",
	ActionRun: "ran", ActionDispatch: "ran for the first time",
}

func describeEnd(m crashlog.Mark, left crashlog.Remains) string {
	ended := "ended"
	if left.Crash != "" {
		ended = "crashed (" + cutName(left.Crash) + ")"
	}
	reason := "a process " + ended + " while the driver " + works[Action(m.Action)] + " it"
	if others := len(left.Marks) - 1; others > 0 {
		reason += fmt.Sprintf(" and %d others", others)
	}
	return reason
}

// Refuse writes the note of a program that was tried: q.Hangs is the number of trials in
// which it hung. It sets the time.
func (s *Store) Refuse(q Quarantined) error {
	q.Time, q.Name = s.dir.now().UTC(), cutName(q.Name)
	return wrap("refuse a program", s.writeJSON(notes.path(s.path, q.Key), q))
}

// SuspectDriverCache reports whether the driver's own cache was set aside since a note was
// written. Otherwise it has the next start set it aside: what the driver reads there may
// be what it crashes of.
func (s *Store) SuspectDriverCache(q Quarantined) (cleared bool, err error) {
	if drivercache.AsideSince(s.dir.DriverDir()).After(q.Time) {
		return true, nil
	}
	if s.dir.readOnly {
		return false, ErrReadOnly
	}
	return false, drivercache.RequestSetAside(s.dir.DriverDir())
}

// Note returns the note of a program, and false where there is none that is valid.
func (s *Store) Note(key shader.Key) (Quarantined, bool) {
	now := s.dir.now()
	q, _, err := notes.read(s.path, key)
	if err != nil || !q.isActive(now) {
		return Quarantined{}, false
	}
	return q.At(now), true
}

// quarantine writes the note of a program, and rejects the blob of a load that crashed.
func (s *Store) quarantine(q Quarantined) error {
	if q.Action == ActionLoad && !q.Suspect {
		if err := s.Reject(q.Key, q.Reason); err != nil {
			return err
		}
	}
	return s.writeJSON(notes.path(s.path, q.Key), q)
}

// Quarantined lists the programs in quarantine and the suspects, sorted by name, then key.
// Damaged notes are ignored.
func (s *Store) Quarantined() []Quarantined {
	var list []Quarantined
	now := s.dir.now()
	for q, err := range notes.all(s.path) {
		if err == nil && q.isActive(now) {
			list = append(list, q.At(now))
		}
	}
	slices.SortFunc(list, compareQuarantined)
	return list
}

// Lift ends the quarantine of a program, and the suspicion against it. It returns nil where there is none.
func (s *Store) Lift(key shader.Key) error {
	return wrap("lift quarantine", removeIfExists(notes.path(s.path, key)))
}

func compareQuarantined(a, b Quarantined) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key.String(), b.Key.String()))
}
