package binary

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary/internal/index"
	"github.com/shadercache/shadercache/shader"
)

// soak reports whether the long versions of tests run.
func soak() bool { return os.Getenv("SHADERCACHE_SOAK") == "1" }

// killCount returns the number of processes to kill: $SHADERCACHE_SOAK_KILLS, else one
// that suits the kind of run.
func killCount(t *testing.T) int {
	t.Helper()
	if text := os.Getenv("SHADERCACHE_SOAK_KILLS"); text != "" {
		kills, err := strconv.Atoi(text)
		must(t, err)
		return kills
	}
	switch {
	case soak():
		return 10_000
	case testing.Short():
		return 20
	}
	return 64
}

func init() {
	// write DIR SEED writes blobs, records and sources until it is killed, and prints a
	// line before each write.
	children["write"] = func(args []string) {
		s := childStore(args[0])
		var seed uint64
		fmt.Sscan(args[1], &seed)
		random := rand.New(rand.NewPCG(seed, 2))
		for {
			fmt.Println("blob")
			n := random.IntN(20)
			s.Mark(ActionCompile, testKey(n), "")
			blob := testBlob(n)
			blob.Payload = testPayload(uint64(n), 1000+n*500)
			if err := s.Put(blob); err != nil {
				panic(err)
			}
			s.Unmark(ActionCompile, testKey(n))
			fmt.Println("record")
			_ = s.Record([]Use{{Key: testKey(n), Hits: 1, LastUse: time.Now()}}, Counters{DiskHits: 1})
			fmt.Println("source")
			_ = s.dir.PutSource(shader.MustSource("s", fmt.Sprint(n), nil))
		}
	}
}

func TestKilledWhileWriting(t *testing.T) {
	kills := killCount(t)
	d := openTestDir(t)
	d.now = time.Now
	s := openTestStore(t, d, testFingerprint)
	random := rand.New(rand.NewPCG(3, 4))
	for kill := range kills {
		cmd := childCommand(t, "write", d.path, fmt.Sprint(kill))
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		// The lines choose the write that is interrupted, the sleep how far it has got.
		// So all three are interrupted on a machine of any speed.
		lines := bufio.NewReader(out)
		for range 1 + random.IntN(9) {
			_, err = lines.ReadString('\n')
			must(t, err)
		}
		time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
		must(t, cmd.Process.Kill())
		_ = cmd.Wait()
		if _, err := s.Recover(); err != nil {
			t.Fatalf("kill %d: %v", kill, err)
		}
		for n := range 20 {
			b, err := s.Get(testKey(n))
			if err == nil && len(b.Payload) != 1000+n*500 || err != nil && !errors.Is(err, ErrNotFound) {
				t.Fatalf("kill %d, program %d: %v", kill, n, err)
			}
			must(t, s.Lift(testKey(n)))
		}
	}
	r, err := d.Verify(true, nil)
	if err != nil || r.Good == 0 || r.Sources == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	must(t, s.Record(nil, Counters{Compiles: 1})) // the next start is clean
	d.now = func() time.Time { return time.Now().Add(2 * time.Hour) }
	if r, err := d.Verify(true, nil); err != nil || !r.OK() {
		t.Errorf("at the end: %+v, %v", r, err)
	}
	// Verify has deleted temporary files, and kept the index.
	if _, err := os.Lstat(filepath.Join(s.path, index.Name)); err != nil {
		t.Error(err)
	}
}

func TestEveryFlippedByteOfTheIndexIsNoticed(t *testing.T) {
	s := openTestStore(t, openTestDir(t), testFingerprint)
	putBlobs(t, s, testBlob(0), testBlob(1))
	must(t, s.Record([]Use{{Key: testKey(0), Hits: 1, LastUse: start}}, Counters{DiskHits: 1}))
	path := filepath.Join(s.path, index.Name)
	data, err := os.ReadFile(path)
	must(t, err)
	step := 61
	if soak() {
		step = 1
	}
	check := func(what string, at int, bad []byte) {
		must(t, os.WriteFile(path, bad, 0o600))
		if c, err := s.loadIndex(); err == nil && len(c.programs) != 0 {
			t.Fatalf("%s %d was accepted", what, at)
		}
		if list := slices.Collect(s.ByName()); len(list) != 2 || list[0].Hits+list[1].Hits != 0 {
			t.Fatalf("%s %d: %d programs", what, at, len(list))
		}
	}
	for at := 0; at < len(data); at += step {
		bad := append([]byte(nil), data...)
		bad[at] ^= 0x10
		check("byte", at, bad)
		check("length", at, data[:at])
	}
	must(t, s.Record([]Use{{Key: testKey(0), Hits: 2, LastUse: start}}, Counters{DiskHits: 1}))
	if got := list(t, s); got[testKey(0)].Hits != 2 || len(got) != 2 {
		t.Errorf("after the repair: %+v", got)
	}
}

// The package does not read the manifest, and writes it again.
func TestDamagedManifestDoesNoHarm(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(0))
	must(t, s.Record(nil, Counters{Compiles: 1}))
	sound, err := os.ReadFile(s.file(manifestName))
	must(t, err)
	for at := range sound {
		bad := append([]byte(nil), sound...)
		bad[at] ^= 0x20
		must(t, os.WriteFile(s.file(manifestName), bad[:len(bad)-at%7], 0o600))
		if _, err := s.Get(testKey(0)); err != nil {
			t.Fatal(err)
		}
	}
	putBlobs(t, s, testBlob(0))
	must(t, s.Record(nil, Counters{Compiles: 1}))
	now, err := os.ReadFile(s.file(manifestName))
	must(t, err)
	if len(now) < len(sound)/2 || now[0] != '{' || now[len(now)-2] != '}' {
		t.Errorf("the manifest is now\n%s", now)
	}
}

func TestClockSetBack(t *testing.T) {
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(0))
	must(t, os.Chtimes(s.blobPath(testKey(0)), start, start))
	must(t, s.Record([]Use{{Key: testKey(0), LastUse: start.Add(time.Hour)}}, Counters{DiskHits: 1}))
	d.now = func() time.Time { return start.AddDate(-1, 0, 0) }
	must(t, s.Record([]Use{{Key: testKey(0), LastUse: d.now(), Hits: 1}}, Counters{DiskHits: 1}))
	if e := list(t, s)[testKey(0)]; !e.LastUse.Equal(start.Add(time.Hour)) || e.Hits != 1 {
		t.Errorf("entry %+v", e)
	}
	if r, err := d.Prune(PruneOptions{MaxAge: time.Hour}); err != nil || r.Programs != 0 {
		t.Errorf("Prune: %+v, %v", r, err)
	}
}
