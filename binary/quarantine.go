package binary

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shadercache/shadercache/binary/internal/crashlog"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// What a process left in flight when it died is held against it, in
// quarantine/<key>.json of the store:
//
//	in flight               what follows
//	one load                the blob is set aside, and the program neither loaded nor stored
//	several loads           the blobs are set aside
//	compiles                the sources are suspects: compiled one at a time, and absolved by
//	                        surviving it
//	one compile, suspected  the source is refused with a QuarantinedError
//	runs                    like compiles
//
// for QuarantineTime. A mark alone cannot tell a driver that crashed from a user
// who pressed Ctrl-C, and a user does so more often. Doing without a blob costs
// a compile; refusing a source costs the application its start, so that takes a
// second death, with nothing else in flight, or a process that is known to have
// crashed (TellCrashes, TellCrash): then one compile is refused at once. Neither the time
// nor the start of the machine since then acquits: drivers hang machines too.
const (
	quarantineName     = "quarantine"
	quarantineExt      = ".json"
	maxQuarantineBytes = 64 << 10

	// QuarantineTime is how long a program stays in quarantine.
	QuarantineTime = 24 * time.Hour
)

// Quarantined is a program that was in the hands of the driver when a process
// died.
type Quarantined struct {
	Key     shader.Key `json:"key"`
	Name    string     `json:"name"`
	Action  Action     `json:"action"`
	Suspect bool       `json:"suspect"` // others were in flight, or it is a source's first time
	Reason  string     `json:"reason"`
	Time    time.Time  `json:"time"` // when the death was noticed
}

// Refused reports whether the source, or what was tried out, must not reach the
// driver.
func (q Quarantined) Refused() bool { return q.Action != ActionLoad && !q.Suspect }

// Until is when the quarantine ends by itself.
func (q Quarantined) Until() time.Time { return q.Time.Add(QuarantineTime) }

// stands reports whether the quarantine has not ended. A time that is not yet
// is from before the clock was set back.
func (q Quarantined) stands(now time.Time) bool {
	age := now.Sub(q.Time)
	return age > -QuarantineTime && age < QuarantineTime
}

// Recovery is what Recover found.
type Recovery struct {
	Found    []Quarantined // noticed now: a process has died since the last time
	Standing []Quarantined // all that are in quarantine, sorted by name, then key
}

// Recover looks for processes that died with programs in the hands of the
// driver and puts these programs, and no others, into quarantine. Call it
// before the driver gets anything; it reads two directories, which are empty
// as a rule. What it could find out is returned with an error too.
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
	r.Standing = s.Quarantined()
	if err != nil {
		return r, fmt.Errorf("binary: recover: %w", err)
	}
	return r, nil
}

// judge says what follows from a mark that was left with others.
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
		if q.Suspect = !s.suspects(m, q.Time); !q.Suspect {
			q.Reason += ", for the second time"
		}
	}
	return q
}

// suspects reports whether what a mark says was interrupted before.
func (s *Store) suspects(m crashlog.Mark, now time.Time) bool {
	before, err := s.readQuarantine(m.Key)
	return err == nil && before.Action == Action(m.Action) && before.stands(now)
}

// quarantine sets a blob aside and writes the note, which stays away where a
// blob is only a suspect: without it, there is nothing left to suspect.
func (s *Store) quarantine(q Quarantined) error {
	if q.Action == ActionLoad {
		if err := s.Reject(q.Key, q.Reason); err != nil || q.Suspect {
			return err
		}
	}
	data, err := json.MarshalIndent(q, "", "  ")
	if err != nil {
		return err
	}
	path := s.quarantinePath(q.Key)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return osfile.WriteFile(path, append(data, '\n'))
}

func (s *Store) quarantinePath(key shader.Key) string {
	return filepath.Join(s.path, quarantineName, key.String()+quarantineExt)
}

// Quarantined lists the programs that are in quarantine, sorted by name, then
// key. A note that is damaged keeps nothing out.
func (s *Store) Quarantined() []Quarantined {
	var list []Quarantined
	for _, q := range s.quarantineNotes() {
		if q.stands(s.dir.now()) {
			list = append(list, q)
		}
	}
	slices.SortFunc(list, compareQuarantined)
	return list
}

// quarantineNotes reads all notes, those that have ended too.
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

// Lift ends the quarantine of a program. It is no error where there is none.
func (s *Store) Lift(key shader.Key) error {
	if err := os.Remove(s.quarantinePath(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("binary: lift quarantine: %w", err)
	}
	return nil
}

func compareQuarantined(a, b Quarantined) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key.String(), b.Key.String()))
}
