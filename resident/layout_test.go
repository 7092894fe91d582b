//go:build linux

package resident

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/resident/internal/wire"
)

// TestTheDriverHasTheSameLayout compares the offsets of the control blocks' fields as
// the driver reports them with the constants of the host.
func TestTheDriverHasTheSameLayout(t *testing.T) {
	f := newFixture(t)
	_, sc := f.stopped(echoKernel(), quick)
	places := map[string]int{}
	err := sc.context.Do(func(gl *glctx.GL) error {
		list, err := gl.Variables(sc.program.Program())
		for _, v := range list {
			places[strings.TrimSuffix(v.Name, "[0]")] = v.Offset
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"SharedLines": 0, "Inbox": wire.AtInbox, "Outbox": wire.AtOutbox, "Address": wire.AtAddress,
		"SecondaryOutbox": wire.AtSecondaryOutbox, "WorkLines": 0, "LogRing": wire.AtLogRing, "Groups": wire.AtGroups}
	for name, words := range want { // names of fields are macros, which a test of internal/wire checks
		if at, ok := places["resident"+name]; !ok || at != 4*words {
			t.Errorf("%s is at byte %d (%v), not %d", name, at, ok, 4*words)
		}
	}
}

// TestHeartbeatIncreases reads the heartbeat and the progress after each run.
func TestHeartbeatIncreases(t *testing.T) {
	f := newFixture(t)
	for _, strategy := range Strategies() {
		o := quick
		o.Strategy = strategy
		s := f.session(chainKernel(), o)
		if n := s.Heartbeat(); n != 0 {
			t.Errorf("%v: %d beats before the first tick", strategy, n)
		}
		last := uint32(0)
		for range 4 {
			run(t, s, 25)
			if n := s.Heartbeat(); n <= last {
				t.Errorf("%v: the heartbeat went from %d to %d", strategy, last, n)
			} else {
				last = n
			}
		}
		if p, done := s.Progress(), s.mail.words.Load(wire.AtDone); p != 100 || done != 100 {
			t.Errorf("%v: progress is %d, and %d for group 0", strategy, p, done)
		}
	}
}
