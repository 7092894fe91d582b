package doctor

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	_ "github.com/shadercache/shadercache/fleet/file"
	"github.com/shadercache/shadercache/fleet/pack"
)

func TestAnswersOfARemote(t *testing.T) {
	head := &fleet.Head{Packs: []fleet.Pack{{Programs: 48}}}
	for name, c := range map[string]struct {
		status      fleet.Status
		level       string
		detail, fix string
	}{
		"good":         {fleet.Status{URL: "file:///x", Signed: true, Head: head}, LevelGood, "signed by a known key, with 48 programs", ""},
		"unsigned":     {fleet.Status{Head: head}, LevelGood, "not signed by a known key", ""},
		"nothing":      {fleet.Status{}, LevelNote, "has nothing for this driver", "shadercache push"},
		"no answer":    {fleet.Status{Err: fmt.Errorf("%w: refused", fleet.ErrUnreachable)}, LevelWrong, "unreachable", "remote status"},
		"another key":  {fleet.Status{Err: &fleet.RefusedError{Class: "signature", Reason: "signed by key 1"}}, LevelWrong, "signed by key 1", "SHADERCACHE_REMOTE_KEYS"},
		"clock":        {fleet.Status{Head: head, Clock: -time.Hour}, LevelWrong, "the clock of the remote differs by 1h", "ntp"},
		"near its end": {fleet.Status{Signed: true, Head: &fleet.Head{Expires: time.Now().Add(time.Hour)}}, LevelNote, "no machine uses its packs after", "--refresh"},
		"breaker":      {fleet.Status{Head: head, Breaker: time.Now(), Reason: "no route"}, LevelNote, "since it failed: no route", "shadercache pull"},
	} {
		r := &Report{Good: true}
		r.examineAnswer(c.status)
		t.Run(name, func(t *testing.T) { wantFinding(t, r, c.level, c.detail, c.fix) })
	}
}

// A pull that takes longer than a start waits for is worth knowing, with what to set.
func TestTimeOfAPull(t *testing.T) {
	pull := fleet.PullReport{Packs: 1, Bytes: 1 << 20}
	r := &Report{Good: true}
	r.examineTime(400*time.Millisecond, 150*time.Millisecond, pull)
	wantFinding(t, r, LevelNote, "a pull of 1.0 MiB in 1 pack took 400 ms, and a first start waits for 150ms", "SHADERCACHE_REMOTE_BUDGET=800ms")
	r = &Report{Good: true}
	r.examineTime(40*time.Millisecond, 150*time.Millisecond, pull)
	wantFinding(t, r, LevelGood, "took 40 ms", "")
}

// The environment is examined: values that cannot be understood, no key, no such place.
func TestRemoteOfTheEnvironment(t *testing.T) {
	dir, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	key := filepath.Join(t.TempDir(), "key")
	if err := pack.GenerateKey(key); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		url, keys, budget string
		level, detail     string
	}{
		"none":      {},
		"budget":    {"file:///nowhere", key + ".pub", "soon", LevelWrong, "is no duration"},
		"no key":    {"file:///nowhere", "", "", LevelWrong, "no key is known"},
		"no scheme": {"gopher://host/", key + ".pub", "", LevelWrong, "gopher"},
		"empty":     {"file://" + t.TempDir(), key + ".pub", "", LevelNote, "has nothing for this driver"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SHADERCACHE_REMOTE", c.url)
			t.Setenv("SHADERCACHE_REMOTE_KEYS", c.keys)
			t.Setenv("SHADERCACHE_REMOTE_BUDGET", c.budget)
			r := &Report{Good: true}
			r.examineRemote(dir, &binary.Fingerprint{Vendor: "Test", Renderer: "Doctor"})
			if c.level == "" {
				if len(r.Findings) != 0 {
					t.Errorf("%+v", r.Findings)
				}
				return
			}
			wantFinding(t, r, c.level, c.detail, "")
		})
	}
}
