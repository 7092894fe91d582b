package binary

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func testTuning(problem string) Tuning {
	return Tuning{
		Problem:    problem,
		Choice:     json.RawMessage(`{"algorithm":"gemm_block","params":{"bm":128,"text":0}}`),
		Nanos:      43_000.5,
		GFLOPS:     50_000,
		MaxError:   1e-7,
		Candidates: 40,
		Created:    start,
	}
}

func sameTuning(a, b Tuning) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return bytes.Equal(x, y)
}

func TestTuningRoundTrip(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	if _, err := s.Tuning("gemm:1x2x3"); !errors.Is(err, ErrNotFound) {
		t.Errorf("before anything was kept: %v", err)
	}
	for _, problem := range []string{"gemm:1x2x3", "gemm:1x2x4", "a <b> & \"c\"\n"} {
		want := testTuning(problem)
		must(t, s.PutTuning(want))
		want.GFLOPS = 60_000
		must(t, s.PutTuning(want))
		if got, err := s.Tuning(problem); err != nil || !sameTuning(got, want) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	count := 0
	for got, err := range s.Tunings() {
		count++
		if err != nil || !sameTuning(got, func() Tuning { w := testTuning(got.Problem); w.GFLOPS = 60_000; return w }()) {
			t.Errorf("listed %+v, %v", got, err)
		}
	}
	if count != 3 {
		t.Errorf("%d tunings are listed", count)
	}
	undated := testTuning("undated")
	undated.Created = time.Time{}
	must(t, s.PutTuning(undated))
	if got, err := s.Tuning("undated"); err != nil || !got.Created.Equal(start) {
		t.Errorf("created %v, %v", got.Created, err)
	}
}

func TestPutTuningRefuses(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	for want, spoil := range map[string]func(*Tuning){
		"no problem":    func(u *Tuning) { u.Problem = "" },
		"not JSON":      func(u *Tuning) { u.Choice = json.RawMessage("{") },
		"not a number":  func(u *Tuning) { u.Nanos = math.NaN() },
		"negative":      func(u *Tuning) { u.Candidates = -1 },
		"are possible":  func(u *Tuning) { u.Problem = strings.Repeat("x", maxTuningBytes) },
		"a figure is n": func(u *Tuning) { u.MaxError = math.Inf(1) },
	} {
		u := testTuning("p")
		spoil(&u)
		if err := s.PutTuning(u); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	if _, err := os.Stat(filepath.Join(s.Path(), tuningName)); err == nil {
		t.Error("something was written")
	}
}

func TestDamagedTunings(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, s.PutTuning(testTuning("p")))
	path := s.TuningPath("p")
	good, err := os.ReadFile(path)
	must(t, err)
	other, err := d.Store(otherFingerprint)
	must(t, err)
	must(t, other.PutTuning(testTuning("p")))
	otherDriver, err := os.ReadFile(other.TuningPath("p"))
	must(t, err)
	another, err := s.encodeTuning(testTuning("another problem"))
	must(t, err)
	for name, data := range map[string][]byte{
		"empty":           nil,
		"no JSON":         []byte("tuning"),
		"another number":  bytes.Replace(good, []byte("128"), []byte("127"), 1),
		"another driver":  otherDriver,
		"another problem": another,
		"a longer file":   append(bytes.Clone(good), '{'),
		"too large":       append(bytes.Clone(good), bytes.Repeat([]byte(" "), maxTuningBytes)...),
		"unknown field":   bytes.Replace(good, []byte(`"schema":1`), []byte(`"schema":1,"more":1`), 1),
		"another schema":  bytes.Replace(good, []byte(`"schema":1`), []byte(`"schema":2`), 1),
	} {
		must(t, os.WriteFile(path, data, 0o600))
		if _, err := s.Tuning("p"); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
		if err := CheckFile(s.digest, s.TuningPath("p"), data); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: CheckFile: %v", name, err)
		}
		r, err := d.Verify(false, nil)
		if err != nil || r.Damaged != 1 || r.Tunings != 1 || r.Unknown != 0 {
			t.Errorf("%s: verified %+v, %v", name, r, err)
		}
	}
	if r, err := d.Verify(true, nil); err != nil || r.Damaged != 1 {
		t.Errorf("repaired %+v, %v", r, err)
	}
	if r, err := d.Verify(false, nil); err != nil || r.Damaged != 0 || r.Tunings != 1 {
		t.Errorf("after the repair %+v, %v", r, err)
	}
	if _, err := s.Tuning("p"); !errors.Is(err, ErrNotFound) {
		t.Errorf("after the repair: %v", err)
	}
}

func TestTuningsAreDeletedWithTheirDriver(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, s.PutTuning(testTuning("p")))
	left := temporaryOf(s.TuningPath("p"))
	must(t, os.WriteFile(left, nil, 0o600))
	old := start.Add(-2 * temporaryAge)
	must(t, os.Chtimes(left, old, old))
	if r, err := d.Prune(PruneOptions{OtherThan: []Fingerprint{testFingerprint}, MaxBytes: 1, MaxAge: time.Nanosecond}); err != nil || r.Leftovers != 1 {
		t.Errorf("pruned %+v, %v", r, err)
	}
	if _, err := s.Tuning("p"); err != nil {
		t.Errorf("a driver that stays lost its tuning: %v", err)
	}
	if r, err := d.Prune(PruneOptions{OtherThan: []Fingerprint{otherFingerprint}}); err != nil || r.Fingerprints != 1 {
		t.Errorf("pruned %+v, %v", r, err)
	}
	if _, err := s.Tuning("p"); !errors.Is(err, ErrNotFound) {
		t.Errorf("a driver that went left its tuning: %v", err)
	}
}

func TestTuningsAreReadFromUpstream(t *testing.T) {
	up := openTestDir(t)
	must(t, openTestStore(t, up, testFingerprint).PutTuning(testTuning("p")))
	upstream, err := OpenUpstream(up.Path())
	must(t, err)
	s := openTestStore(t, openTestDir(t).WithUpstream(upstream), testFingerprint)
	if got, err := s.Tuning("p"); err != nil || got.Candidates != 40 {
		t.Errorf("got %+v, %v", got, err)
	}
	own := testTuning("p")
	own.Candidates = 41
	must(t, s.PutTuning(own))
	if got, err := s.Tuning("p"); err != nil || got.Candidates != 41 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzTuning(f *testing.F) {
	s := &Store{digest: testFingerprint.Digest()}
	good, err := s.encodeTuning(testTuning("p"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{"schema":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		u, err := decodeTuning(s.digest, problemKey("p"), data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("error %v", err)
			}
			return
		}
		again, err := s.encodeTuning(u)
		must(t, err)
		if v, err := decodeTuning(s.digest, problemKey("p"), again); err != nil || !sameTuning(u, v) {
			t.Errorf("%+v became %+v, %v", u, v, err)
		}
	})
}
