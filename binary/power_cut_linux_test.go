package binary

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/powercut"
	"github.com/shadercache/shadercache/shader"
)

// Before the power is cut a process has stored programs 0 to 5, each used once. The
// process that is cut replaces 4, deletes 5, adds 6 to 8 and uses all.
const (
	cutBefore   = 6
	cutReplaced = 4
	cutPruned   = 5
	cutAfter    = 9
)

func cutTuning(n int) Tuning {
	return Tuning{Problem: fmt.Sprint("problem ", n), Choice: json.RawMessage(`{"tile":8}`), Nanos: 1, Created: start}
}

func cutSource(n int) *shader.Source {
	return shader.MustSource("s", fmt.Sprintln("// source", n), nil)
}

func cutUses(from, to int) []Use {
	var uses []Use
	for n := from; n < to; n++ {
		uses = append(uses, Use{Key: testKey(n), Name: "used", Hits: 1, LastUse: start.AddDate(30, 0, 0)})
	}
	return uses
}

func init() {
	// Calls are counted for each thread, so the child has one.
	children["work-before-cut"] = func(args []string) {
		runtime.LockOSThread()
		s := childStore(args[0])
		for n := range cutBefore {
			s.Mark(ActionCompile, testKey(n), "")
			check(s.Put(testBlob(n)))
			s.Unmark(ActionCompile, testKey(n))
		}
		check(s.PutSource(cutSource(0)))
		check(s.PutTuning(cutTuning(0)))
		check(s.Record(cutUses(0, cutBefore), Counters{DiskHits: cutBefore}))
		check(s.Close())
	}
	children["work-in-cut"] = func(args []string) {
		runtime.LockOSThread()
		s := childStore(args[0])
		s.Mark(ActionCompile, testKey(cutBefore), "")
		for n := cutBefore; n < cutAfter; n++ {
			check(s.Put(testBlob(n)))
		}
		s.Unmark(ActionCompile, testKey(cutBefore))
		check(s.Put(testBlob(cutReplaced)))
		check(s.Reject(testKey(cutPruned), "the test rejects it"))
		check(s.PutSource(cutSource(1)))
		check(s.PutTuning(cutTuning(1)))
		check(s.Record(cutUses(0, cutAfter), Counters{DiskHits: cutAfter}))
		_, err := s.Dir().Prune(PruneOptions{MaxBytes: 1 << 30, Now: time.Now()})
		check(err)
		check(s.Record(cutUses(0, 2), Counters{DiskHits: 2}))
		check(s.Close())
	}
	children["put-and-wait"] = func(args []string) {
		s := childStore(args[0])
		check(s.Put(testBlob(0)))
		fmt.Println("stored")
		awaitSignal()
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// TestPowerCut kills a process before each of its writes and cuts the power: the next
// start has all that was there before the process, and nothing wrong.
func TestPowerCut(t *testing.T) {
	v := powercut.NewVolume(t)
	dir := filepath.Join(v.Dir(), "cache")
	must(t, childCommand(t, "work-before-cut", dir).Run())
	v.Cut(powercut.Everything)
	checkAfterCut(t, dir)
	saved := v.Save()

	step := 1
	if !soak() {
		step = 47
	}
	for _, loss := range []powercut.Loss{powercut.Everything, powercut.Data} {
		killed, n := true, 1
		for ; killed && !t.Failed(); n += step {
			v.Restore(saved)
			killed = powercut.RunUntil(t, n, childCommand(t, "work-in-cut", dir))
			v.Cut(loss)
			checkAfterCut(t, dir)
			if t.Failed() {
				t.Logf("loss %d, before call %d", loss, n)
			}
		}
		t.Logf("loss %d: cuts before each %d of %d calls", loss, step, n)
	}
}

func checkAfterCut(t *testing.T, dir string) {
	t.Helper()
	d, err := OpenDir(dir)
	must(t, err)
	s := openTestStore(t, d, testFingerprint)
	if _, err := s.Recover(); err != nil {
		t.Errorf("Recover: %v", err)
	}
	for n := range cutAfter {
		b, err := s.Get(testKey(n))
		switch {
		case err == nil && string(b.Payload) != string(testBlob(n).Payload):
			t.Errorf("program %d has another binary", n)
		case err != nil && (n < cutPruned || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotFound)):
			t.Errorf("program %d: %v", n, err)
		}
	}
	if _, err := s.Source(cutSource(0).Key()); err != nil {
		t.Errorf("source: %v", err)
	}
	if _, err := s.Tuning(cutTuning(0).Problem); err != nil {
		t.Errorf("tuning: %v", err)
	}
	known := list(t, s)
	for n := range cutPruned {
		if e := known[testKey(n)]; e.Hits == 0 || e.Name != "used" {
			t.Errorf("program %d: index has %+v", n, e)
		}
	}
	if c, err := d.Lifetime(); err != nil || c.DiskHits < cutBefore {
		t.Errorf("lifetime counters %+v, %v", c, err)
	}
	before, err := d.Lifetime()
	must(t, err)
	must(t, s.Record(cutUses(0, 1), Counters{DiskHits: 1}))
	if after, err := d.Lifetime(); err != nil || after.DiskHits != before.DiskHits+1 {
		t.Errorf("after a record: %d disk hits, %d before, %v", after.DiskHits, before.DiskHits, err)
	}
	if r, err := d.Verify(false, nil); err != nil || r.Damaged != 0 {
		t.Errorf("verify: %+v, %v", r, err)
	}
	must(t, s.Close())
}

// TestPowerCutOfAnIdleProcess cuts the power a second after a program was stored, while
// its process lives.
func TestPowerCutOfAnIdleProcess(t *testing.T) {
	v := powercut.NewVolume(t)
	dir := filepath.Join(v.Dir(), "cache")
	child := childCommand(t, "put-and-wait", dir)
	output, err := child.StdoutPipe()
	must(t, err)
	must(t, child.Start())
	_, err = output.Read(make([]byte, 1))
	must(t, err)
	time.Sleep(time.Second)
	must(t, child.Process.Kill())
	_ = child.Wait()
	v.Cut(powercut.Everything)
	d, err := OpenDir(dir)
	must(t, err)
	if _, err := openTestStore(t, d, testFingerprint).Get(testKey(0)); err != nil {
		t.Error(err)
	}
}
