package binary

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// Processes that end together lose nothing, and a process that only fills the directory
// is no start.
func TestStartsOfManyProcesses(t *testing.T) {
	d := openTestDir(t)
	must(t, openTestStore(t, d, testFingerprint).Record(nil, Counters{Compiles: 48, StoreOnly: 48}))
	const processes = 16
	var group sync.WaitGroup
	for range processes {
		s := openTestStore(t, d, testFingerprint)
		group.Go(func() {
			s.recordStarts(Counters{Starts: 1, DiskHits: 3, Compiles: 1})
			s.recordStarts(Counters{ResidentHits: 6})
		})
	}
	group.Wait()
	got := sumStarts(d.Starts(time.Time{}))
	if want := (Counters{Starts: processes, DiskHits: 3 * processes, Compiles: processes, ResidentHits: 6 * processes}); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if disk, resident, compiles := got.DiskRate(), got.ResidentRate(), got.CompilesPerStart(); disk != 0.75 || resident != 0.6 || compiles != 1 {
		t.Errorf("rates %v, %v, %v", disk, resident, compiles)
	}
}

// The file stays small, and the sums stay right.
func TestStartsAreSummedUp(t *testing.T) {
	d := openTestDir(t)
	now := start
	d.now = func() time.Time { return now }
	s := openTestStore(t, d, testFingerprint)
	const records = 5000
	for range records {
		now = now.Add(time.Minute)
		s.recordStarts(Counters{Starts: 1, DiskHits: 2, SavedNanos: 1_000_000_007})
	}
	info, err := os.Stat(starts.path(d))
	must(t, err)
	all := d.Starts(time.Time{})
	if got := sumStarts(all); got.Starts != records || got.DiskHits != 2*records || info.Size() > starts.above+1000 {
		t.Errorf("%d starts, %d disk hits, %d bytes", got.Starts, got.DiskHits, info.Size())
	}
	if got := sumStarts(d.Starts(now.Add(-10 * time.Minute))); got.Starts != 11 {
		t.Errorf("%d starts in the last ten minutes", got.Starts)
	}
	for range records { // within an hour
		now = now.Add(time.Millisecond)
		s.recordStarts(Counters{ResidentHits: 1, LoadNanos: 1_000_000_007})
	}
	info, err = os.Stat(starts.path(d))
	must(t, err)
	if got := sumStarts(d.Starts(time.Time{})); got.ResidentHits != records || info.Size() > starts.above+1000 {
		t.Errorf("%d hits, %d bytes", got.ResidentHits, info.Size())
	}
}

func TestZero(t *testing.T) {
	d := openTestDir(t)
	now := start
	d.now = func() time.Time { return now }
	s := openTestStore(t, d, testFingerprint)
	must(t, s.Record(nil, Counters{Starts: 1, Compiles: 5, SavedNanos: 7}))
	must(t, s.PutCompiled([]*shader.Source{shader.MustSource("a", "1", nil)}))
	now = now.Add(time.Hour)
	must(t, d.Zero())
	must(t, d.Zero()) // also where nothing is left
	if c := lifetime(t, d); c != (Counters{}) || len(d.Starts(time.Time{})) != 0 || len(d.Recompiled()) != 0 || d.ZeroTime() != now {
		t.Errorf("%+v, %v, %v, %v", c, d.Starts(time.Time{}), d.Recompiled(), d.ZeroTime())
	}
	now = now.Add(time.Hour)
	must(t, s.Record(nil, Counters{DiskHits: 2}))
	if c := lifetime(t, d); c != (Counters{DiskHits: 2}) || sumStarts(d.Starts(time.Time{})) != c {
		t.Errorf("%+v, %+v", c, d.Starts(time.Time{}))
	}
	must(t, os.RemoveAll(s.Path())) // counters that are lost begin again
	must(t, os.Remove(d.path+"/"+statsName))
	if c := lifetime(t, d); c != (Counters{}) {
		t.Errorf("%+v", c)
	}
}

// What others wrote into the files costs figures and no more.
func TestDamagedStarts(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	must(t, s.Record(nil, Counters{Starts: 1}))
	for _, name := range []string{starts.name, zeroName, compiledName} {
		must(t, os.WriteFile(d.path+"/"+name, []byte("{\"time\":3}\n[1,2\nnull\n"), 0o600))
	}
	must(t, s.Record(nil, Counters{DiskHits: 1}))
	must(t, s.PutCompiled([]*shader.Source{shader.MustSource("a", "1", nil)}))
	if all := d.Starts(time.Time{}); len(all) != 1 || len(d.Recompiled()) != 1 {
		t.Errorf("%+v, %+v", all, d.Recompiled())
	}
}

// The evidence names the line that differs from start to start.
func TestRecompiled(t *testing.T) {
	d := openTestDir(t)
	now := start
	d.now = func() time.Time { return now }
	text := func(n int) *shader.Source {
		return shader.MustSource("blur", fmt.Sprintf("#version 450\n// made at %d\nvoid main() {}\n", n), nil)
	}
	for n := range 4 {
		now = now.Add(time.Minute)
		s := openTestStore(t, d, testFingerprint)
		same := shader.MustSource("same", "void main() {}", nil)
		// Only the first program of a name counts in one start.
		must(t, s.PutCompiled([]*shader.Source{text(n), same, text(n + 100)}))
		must(t, s.PutCompiled([]*shader.Source{text(n + 200)}))
	}
	got := map[string]Recompiled{}
	for _, r := range d.Recompiled() {
		got[r.Name] = r
	}
	blur := got["blur"]
	line := strings.Split(text(3).Text(), "\n")[blur.Line-1]
	if blur.Starts != 4 || blur.Text != "// made at 3" || line != blur.Text || !blur.First.Equal(start.Add(time.Minute)) || !blur.Last.Equal(now) {
		t.Errorf("%+v", blur)
	}
	if got["same"].Starts != 1 || len(got) != 2 {
		t.Errorf("%+v", got)
	}
	many := openTestStore(t, d, testFingerprint)
	for n := range 2 * maxCompiled {
		now = now.Add(time.Minute)
		must(t, many.PutCompiled([]*shader.Source{shader.MustSource(fmt.Sprint(n), "1", nil)}))
	}
	if list := d.Recompiled(); len(list) != maxCompiled {
		t.Errorf("%d names", len(list))
	}
}

func sumStarts(periods []Starts) (total Counters) {
	for _, p := range periods {
		total.Add(p.Counters)
	}
	return total
}
