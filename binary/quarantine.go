package binary

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// The programs that were in flight when a process ended are quarantined for
// QuarantineTime, in quarantine/<key>.json of the store:
//
//	in flight             consequence
//	one load              the blob is rejected; the program is neither loaded nor stored
//	several loads         the blobs are rejected
//	compiles              the sources are suspect: compiled one at a time, and cleared by a
//	                      compile that returns
//	one suspect compile   the source is refused with a QuarantinedError
//	runs                  as for compiles
//
// A mark alone does not distinguish a driver that crashed from a user who pressed
// Ctrl-C, which happens more often. Rejecting a blob costs a compile. Refusing a source
// may keep the application from starting, so it takes a second end with nothing else in
// flight, or evidence of a crash (SetCrashOutput, RecordCrash), after which one compile
// is refused at once. A restart of the machine does not end a quarantine: drivers hang
// machines too.
const (
	quarantineName     = "quarantine"
	quarantineExt      = ".json"
	maxQuarantineBytes = 64 << 10

	// QuarantineTime is how long a program stays in quarantine.
	QuarantineTime = 24 * time.Hour
)

// Quarantined describes a program that was in flight when a process ended.
type Quarantined struct {
	Key     shader.Key `json:"key"`
	Name    string     `json:"name"`
	Action  Action     `json:"action"`
	Suspect bool       `json:"suspect"` // others were in flight, or it is the first time for a source
	Reason  string     `json:"reason"`
	Time    time.Time  `json:"time"` // when Recover found the mark
}

// Refused reports whether the source, or the tuner's candidate, must not reach the driver.
func (q Quarantined) Refused() bool { return q.Action != ActionLoad && !q.Suspect }

// Until returns when the quarantine ends.
func (q Quarantined) Until() time.Time { return q.Time.Add(QuarantineTime) }

// isActive reports whether the quarantine has not ended. A time in the future was
// written before the clock was set back.
func (q Quarantined) isActive(now time.Time) bool {
	age := now.Sub(q.Time)
	return age > -QuarantineTime && age < QuarantineTime
}

// Recovery is the result of Recover.
type Recovery struct {
	Found  []Quarantined // in flight in processes that ended since the last call
	Active []Quarantined // every program in quarantine, sorted by name, then key
}

// Recover finds processes that ended with programs in flight and quarantines those
// programs. Call it before the driver gets a program. It reads two directories, which
// are empty as a rule. With an error it returns what it has found.
func (s *Store) Recover() (Recovery, error) {
	var r Recovery
	err := crashlog.Recover(s.inFlightPath(), s.dir.now(), func(left crashlog.Remains) error {
		for m, name := range left.Marks {
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
	if err != nil {
		return r, fmt.Errorf("binary: recover: %w", err)
	}
	return r, nil
}

// classify returns the consequence of a mark that a process left, perhaps with others.
func (s *Store) classify(m crashlog.Mark, name string, left crashlog.Remains) Quarantined {
	others := len(left.Marks) - 1
	q := Quarantined{Key: m.Key, Name: name, Action: Action(m.Action), Suspect: others > 0, Time: s.dir.now().UTC()}
	ended := "ended"
	if left.Crash != "" {
		ended = "crashed (" + cutName(left.Crash) + ")"
	}
	q.Reason = "a process " + ended + " while the driver had to " + m.Action + " it"
	if others > 0 {
		q.Reason += fmt.Sprintf(" and %d others", others)
	}
	if q.Action != ActionLoad && !q.Suspect && left.Crash == "" {
		if q.Suspect = !s.isSuspect(m, q.Time); !q.Suspect {
			q.Reason += ", for the second time"
		}
	}
	return q
}

// isSuspect reports whether the action of a mark has been interrupted before.
func (s *Store) isSuspect(m crashlog.Mark, now time.Time) bool {
	before, err := s.readQuarantine(m.Key)
	return err == nil && before.Action == Action(m.Action) && before.isActive(now)
}

// quarantine rejects the blob of a load and writes the note. It writes none for a suspect
// load: the rejected blob is not loaded again.
func (s *Store) quarantine(q Quarantined) error {
	if q.Action == ActionLoad {
		if err := s.Reject(q.Key, q.Reason); err != nil || q.Suspect {
			return err
		}
	}
	return s.writeJSON(s.quarantinePath(q.Key), q)
}

func (s *Store) quarantinePath(key shader.Key) string {
	return filepath.Join(s.path, quarantineName, key.String()+quarantineExt)
}

// Quarantined lists the programs in quarantine, sorted by name, then key. Damaged notes
// are ignored.
func (s *Store) Quarantined() []Quarantined {
	var list []Quarantined
	for _, q := range s.quarantineNotes() {
		if q.isActive(s.dir.now()) {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, compareQuarantined)
	return list
}

// quarantineNotes reads all notes, including those of quarantines that have ended.
func (s *Store) quarantineNotes() []Quarantined {
	var list []Quarantined
	for _, e := range osfile.List(filepath.Join(s.path, quarantineName)) {
		digits, ok := strings.CutSuffix(e.Name(), quarantineExt)
		key, err := shader.ParseKey(digits)
		if !ok || err != nil {
			continue
		}
		if q, err := s.readQuarantine(key); err == nil {
			list = append(list, q)
		}
	}
	return list
}

func (s *Store) readQuarantine(key shader.Key) (Quarantined, error) {
	data, _, err := readRegular(s.quarantinePath(key), maxQuarantineBytes)
	if err != nil {
		return Quarantined{}, err
	}
	var q Quarantined
	if err := json.Unmarshal(data, &q); err != nil || q.Key != key {
		return Quarantined{}, damaged("quarantine note")
	}
	return q, nil
}

// Lift ends the quarantine of a program. It returns nil where there is none.
func (s *Store) Lift(key shader.Key) error {
	if err := removeIfExists(s.quarantinePath(key)); err != nil {
		return fmt.Errorf("binary: lift quarantine: %w", err)
	}
	return nil
}

func compareQuarantined(a, b Quarantined) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key.String(), b.Key.String()))
}
