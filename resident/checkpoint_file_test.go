//go:build linux

package resident

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx"
)

// TestTruncatedCopiesAreNotLoaded truncates the newer copy.
func TestTruncatedCopiesAreNotLoaded(t *testing.T) {
	file := OpenCheckpointFile(filepath.Join(t.TempDir(), "state"))
	if _, err := file.Load(); !errors.Is(err, ErrNoCheckpoint) {
		t.Fatalf("load of nothing: %v", err)
	}
	for steps := range uint64(3) {
		if _, err := file.Save(&Checkpoint{Steps: steps}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := OpenCheckpointFile(file.path).Load()
	if err != nil || c.Steps != 2 || c.Sequence != 3 {
		t.Fatalf("loaded %+v, %v", c, err)
	}
	if err := os.Truncate(file.copyName(1-file.old), 50); err != nil {
		t.Fatal(err)
	}
	again := OpenCheckpointFile(file.path)
	if c, err = again.Load(); err != nil || c.Steps != 1 {
		t.Fatalf("loaded %+v, %v", c, err)
	}
	if _, err := again.Save(&Checkpoint{Steps: 9}); err != nil {
		t.Fatal(err)
	}
	if c, err = again.Load(); err != nil || c.Steps != 9 {
		t.Fatalf("loaded %+v, %v", c, err)
	}
}

// wantSaved saves, and compares the number of bytes written.
func wantSaved(t testing.TB, f *CheckpointFile, c *Checkpoint, want int64) {
	t.Helper()
	written, err := f.Save(c)
	if err != nil {
		t.Fatal(err)
	}
	if written != want {
		t.Fatalf("step %d: %d bytes were written, not %d", c.Steps, written, want)
	}
}

// loaded loads with a new CheckpointFile.
func loaded(t testing.TB, path string) *Checkpoint {
	t.Helper()
	c, err := OpenCheckpointFile(path).Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// small returns the bytes that a save writes besides chunks of states.
func small(c *Checkpoint) int64 { return int64(len(c.head())) + 32 }

// spotText changes one cell of the state in each step.
const spotText = `#version 450 core
#include "resident.glsl"
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Field { uint field[]; };
uint residentStep(uvec2 step) {
    uint at = SPOT + step.x % 8u;
    field[at] = field[at] * 3u + step.x;
    return RESIDENT_GO;
}
`

const (
	spotChunks = 100
	spotAt     = 70*chunkBytes/4 + 5 // word that changes first
)

func spotKernel(chunks int) Kernel {
	return Kernel{Source: MustSource("spot", spotText, map[string]string{"SPOT": fmt.Sprint(spotAt, "u")}), Groups: 1,
		State: []State{{Block: "Field", Init: glctx.Bytes(spotAfter(chunks, 0))}}}
}

func spotAfter(chunks int, steps uint32) []uint32 {
	field := make([]uint32, chunks*chunkBytes/4)
	for i := range field {
		field[i] = uint32(i) * 2654435761
	}
	for step := range steps {
		at := spotAt + step%8
		field[at] = field[at]*3 + step
	}
	return field
}

// TestSavesWriteWhatChanged has a session change one chunk of a hundred. After a complete
// save of each copy only that one is written, with head and seal, and another session
// continues with every word.
func TestSavesWriteWhatChanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	f := newFixture(t)
	o := Options{Budget: 20, Checkpoints: OpenCheckpointFile(path), CheckpointEvery: 1}
	s := f.session(spotKernel(spotChunks), o)
	run(t, s, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again := OpenCheckpointFile(path)
	c, err := again.Load()
	if err != nil {
		t.Fatal(err)
	}
	n := s.Stats()
	parts := int64(n.Checkpoints) - 2
	rest := int64(n.CheckpointBytes) - 2*size(c) - parts*small(c)
	if parts < 2 || rest%chunkBytes != 0 || rest < 2*chunkBytes || rest > parts*chunkBytes {
		t.Fatalf("%d saves of parts wrote %d bytes of state", parts, rest)
	}
	if c.Steps != 100 {
		t.Fatalf("step %d was loaded, not 100", c.Steps)
	}
	other := f.session(spotKernel(spotChunks), quick)
	if err := other.Restore(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	run(t, other, 60)
	wantWords(t, words(t, other, "Field", spotChunks*chunkBytes/4), spotAfter(spotChunks, 160))
	// The content of a copy that was read is known: only the other one is written
	// completely.
	for _, want := range []int64{size(c), small(c) + chunkBytes, small(c)} {
		if c, err = other.Checkpoint(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantSaved(t, again, c, want)
	}
	wantCheckpoint(t, loaded(t, path), c)
}

// TestEveryCutLeavesACheckpoint replays the writes of a save up to each of them, and their
// sectors in random order, as they may reach a disk that loses power.
func TestEveryCutLeavesACheckpoint(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	file := OpenCheckpointFile(path)
	for step := range uint64(2) {
		wantSaved(t, file, numbers(step+1), size(numbers(1)))
	}
	name := file.copyName(file.old)
	before, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	next := numbers(3)
	next.Sequence = 3
	list := patches(file.held[file.old].extents, cut(next.pieces()))
	if len(list) < 4 || len(list) > 9 {
		t.Fatalf("%d writes", len(list))
	}
	sectors := changedSectors(before, list)
	check := func(what string, done []patch, all bool) {
		t.Helper()
		after := bytes.Clone(before)
		for _, p := range done {
			copy(after[p.at:], p.data)
		}
		if err := os.WriteFile(name, after, 0o600); err != nil {
			t.Fatal(err)
		}
		want := uint64(2)
		if all {
			want = 3
		}
		c := loaded(t, path)
		if c.Steps != want {
			t.Fatalf("%s: step %d was loaded, not %d", what, c.Steps, want)
		}
		wantCheckpoint(t, c, numbers(want))
	}
	for i := range list {
		check(fmt.Sprintf("%d writes", i), list[:i], false)
		torn := patch{list[i].at, list[i].data[:len(list[i].data)/2]}
		check(fmt.Sprintf("%d writes and a half", i), append(list[:i:i], torn), false)
	}
	for round := range 20 {
		rand.Shuffle(len(sectors), func(i, j int) { sectors[i], sectors[j] = sectors[j], sectors[i] })
		n := rand.IntN(len(sectors))
		check(fmt.Sprintf("round %d: %d sectors of %d", round, n, len(sectors)), sectors[:n], false)
	}
	check("everything", sectors, true)
	// The next save repairs any rest.
	check("half", list[:len(list)/2], false)
	again := OpenCheckpointFile(path)
	wantSaved(t, again, numbers(4), size(numbers(4)))
	wantCheckpoint(t, loaded(t, path), numbers(4))
}

// changedSectors divides writes into sectors, without those that do not change the file.
func changedSectors(file []byte, list []patch) []patch {
	var sectors []patch
	for _, p := range list {
		for at := 0; at < len(p.data); at += 512 {
			sector := patch{p.at + int64(at), p.data[at:min(at+512, len(p.data))]}
			if !bytes.HasPrefix(file[sector.at:], sector.data) {
				sectors = append(sectors, sector)
			}
		}
	}
	return sectors
}

// TestDamagedCopiesGiveTheOlderOne flips each byte of the newer copy, and cuts it to each
// length.
func TestDamagedCopiesGiveTheOlderOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	file := OpenCheckpointFile(path)
	for step := range uint64(3) {
		c := Checkpoint{Steps: step, groups: make([]groupProgress, 2), states: []savedState{{"Cells", []byte("0123")}}}
		if _, err := file.Save(&c); err != nil {
			t.Fatal(err)
		}
	}
	name := file.copyName(1 - file.old)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	check := func(bad []byte) {
		t.Helper()
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		if c := loaded(t, path); c.Steps != 1 {
			t.Fatalf("step %d was loaded", c.Steps)
		}
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		check(bad)
		check(good[:i])
	}
}

// TestCopiesChangedByOthersAreWrittenCompletely writes to, replaces and removes the older
// copy between saves.
func TestCopiesChangedByOthersAreWrittenCompletely(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	file := OpenCheckpointFile(path)
	c, whole := numbers(1), size(numbers(1))
	wantSaved(t, file, c, whole)
	wantSaved(t, file, c, whole)
	wantSaved(t, file, c, small(c))
	wantSaved(t, file, c, small(c))
	touch := map[string]func(name string) error{
		"a byte": func(name string) error {
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			later := time.Now().Add(time.Second)
			return errors.Join(os.WriteFile(name, data, 0o600), os.Chtimes(name, later, later))
		},
		"the file": func(name string) error {
			return errors.Join(os.Rename(file.copyName(1-file.old), name), os.WriteFile(file.copyName(1-file.old), nil, 0o600))
		},
		"the length": func(name string) error { return os.Truncate(name, 10) },
		"all of it":  os.Remove,
	}
	for what, change := range touch {
		if err := change(file.copyName(file.old)); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		for range 2 {
			if _, err := file.Save(c); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			wantCheckpoint(t, loaded(t, path), c)
		}
		for i := range 2 {
			if _, _, err := readCopy(file.copyName(i)); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
	}
}

// TestSizesMayChange saves states that grow, shrink, come and go.
func TestSizesMayChange(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	file := OpenCheckpointFile(path)
	for step := range uint64(40) {
		c := &Checkpoint{Steps: step, groups: make([]groupProgress, rand.IntN(3))}
		for i := range rand.IntN(3) {
			data := bytes.Repeat([]byte{byte(i)}, rand.IntN(3)*chunkBytes/(1+rand.IntN(2)))
			c.states = append(c.states, savedState{"State", data})
		}
		if _, err := file.Save(c); err != nil {
			t.Fatal(err)
		}
		wantCheckpoint(t, loaded(t, path), c)
		if info, err := os.Stat(file.copyName(1 - file.old)); err != nil || info.Size() != size(c) {
			t.Fatalf("the copy is not %d bytes long: %v, %v", size(c), info, err)
		}
	}
}

// TestLinksAreNotFollowed puts links and pipes in place of the copies.
func TestLinksAreNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.WriteFile(victim, smallCheckpoint(t), 0o600); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]func(name string) error{
		"symbolic link":      func(name string) error { return os.Symlink(victim, name) },
		"not a regular file": func(name string) error { return syscall.Mkfifo(name, 0o600) },
	}
	for what, put := range kinds {
		file := OpenCheckpointFile(filepath.Join(t.TempDir(), "state"))
		for i := range 2 {
			if err := put(file.copyName(i)); err != nil {
				t.Fatal(err)
			}
		}
		_, loading := file.Load()
		_, saving := file.Save(numbers(1))
		for _, err := range []error{loading, saving} {
			if err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if data, err := os.ReadFile(victim); err != nil || !bytes.Equal(data, smallCheckpoint(t)) {
		t.Errorf("the target of the link was written to: %v", err)
	}
}

// TestFalseSizesAllocateNothing reads a head with large sizes.
func TestFalseSizesAllocateNothing(t *testing.T) {
	var data bytes.Buffer
	h := checkpointHead{Version: checkpointVersion, CountOfAllStates: maxStates}
	copy(h.Magic[:], checkpointMagic)
	_ = binary.Write(&data, binary.LittleEndian, h)
	for range maxStates {
		_ = binary.Write(&data, binary.LittleEndian, uint32(0))
		_ = binary.Write(&data, binary.LittleEndian, uint64(maxStateBytes))
	}
	data.WriteString("little")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadCheckpoint(&data)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, ErrDamaged) {
		t.Error(err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > 8<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestCloseReturnsSaveErrors puts directories in place of the files.
func TestCloseReturnsSaveErrors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	for i := range 2 {
		if err := os.Mkdir(fmt.Sprintf("%s.%d", path, i), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	f := newFixture(t)
	o := quick
	o.Checkpoints, o.CheckpointEvery = OpenCheckpointFile(path), 1
	s, err := New(t.Context(), f.context, f.cache, chainKernel(), o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s, 100)
	if err := s.Close(); err == nil {
		t.Error("close does not return the error of a save")
	}
}
