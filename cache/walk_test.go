package cache_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/cachetest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// TestRandomStarts starts processes with random options on a directory and its upstream, some
// of them two at once, with drivers that refuse and miscompute, and damages, prunes and changes
// what they share between them. Each Get gives the right program, a compile error of a source
// that has one, or a wrong answer that the check found: and what was found stays known.
func TestRandomStarts(t *testing.T) {
	walks := 20
	if os.Getenv("SHADERCACHE_SOAK") == "1" {
		walks = 2000
	}
	for seed := range uint64(walks) {
		if runWalk(t, seed); t.Failed() {
			break
		}
	}
}

// walk is a directory and what a driver does with programs.
type walk struct {
	*testing.T
	*rand.Rand
	dir, upstream string
	bad, wrong    map[string]bool // programs that do not compile, that compute wrong also then

	mu     sync.Mutex
	log    []string
	refuse map[string]bool // programs that were bad once, of which an error may be kept
	passed map[string]bool // programs of which a binary passed its check
}

func runWalk(t *testing.T, seed uint64) {
	base := t.TempDir()
	t.Setenv("XDG_RUNTIME_DIR", base) // of a private place, where the directory cannot be used
	w := &walk{T: t, Rand: rand.New(rand.NewPCG(seed, 1)), dir: filepath.Join(base, "dir"), upstream: filepath.Join(base, "upstream"),
		bad: map[string]bool{}, wrong: map[string]bool{}, refuse: map[string]bool{}, passed: map[string]bool{}}
	defer func() {
		if t.Failed() {
			t.Logf("seed %d\n%s", seed, strings.Join(w.log, "\n"))
		}
	}()
	for range 14 {
		var running sync.WaitGroup
		for range 1 + w.IntN(4)/3 {
			random := rand.New(rand.NewPCG(w.Uint64(), 0))
			running.Go(func() { w.start(random) })
		}
		running.Wait()
		if w.Failed() {
			return
		}
		name := fmt.Sprint("s", w.IntN(checked))
		switch w.IntN(8) {
		case 0, 1, 2:
			w.damage()
		case 3:
			w.bad[name] = !w.bad[name]
			w.refuse[name] = true
		case 4:
			w.wrong[name] = !w.wrong[name]
		case 5:
			w.prune()
		}
	}
}

// checked is the number of the first source without a check.
const checked = 4

func (w *walk) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, fmt.Sprintf(format, args...))
}

// start is a process that gets some programs.
func (w *walk) start(r *rand.Rand) {
	one := func(of int) bool { return r.IntN(of) == 0 }
	dev := cachetest.NewDevice()
	miscomputes := one(5)
	dev.MiscomputeBinaries(miscomputes)
	dev.RejectBinaries(one(8))
	dev.ChangeInterfaces(one(8))
	dev.EmptyBinaries(one(10))
	dev.OnCompile = func(_ context.Context, src *shader.Source) error {
		if w.bad[src.Name()] {
			return &shader.CompileError{Name: src.Name(), Log: "no"}
		}
		return nil
	}
	o := cache.Options{
		Dir: w.dir, Upstream: w.upstream, Backfill: one(2), MaxPrograms: 1 + r.IntN(6), KeepEvictedBytes: int64(r.IntN(3000) - 1),
		KeepCompileErrors: one(4), FillOnly: one(5), KeepSources: one(2), History: one(3),
	}
	if one(4) {
		o.Dir, o.Upstream = w.upstream, ""
	}
	if one(3) {
		o.ShareCompiles = time.Second
	}
	o.Binaries = []string{"", "", "", "always", "never"}[r.IntN(5)]
	if one(8) {
		o.MaxDiskFiles = 1 + r.IntN(5)
	}
	known := w.knownWrong(o.Dir)
	w.say("start, miscomputes %v, wrong %v, bad %v, known %v: %+v", miscomputes, w.wrong, w.bad, known, o)
	c, err := cache.New(dev, o)
	if err != nil {
		w.Errorf("New: %v", err)
		return
	}
	for range 1 + r.IntN(20) {
		switch n := r.IntN(16); {
		case n < 14:
			w.get(c, dev, r.IntN(8), miscomputes, known)
		case n == 14:
			_ = c.Flush()
		default:
			_, _ = prune(c, binary.PruneOptions{MaxFiles: r.IntN(6)})
		}
	}
	_ = c.Close() // what cannot be written is counted
	dev.Verify(w)
}

// get gets a program, and checks it against what is known.
func (w *walk) get(c *cache.Cache, dev *cachetest.Device, n int, miscomputes bool, known map[string]bool) {
	src, runs := source(fmt.Sprint("s", n)), 0
	name := src.Name()
	if n < checked {
		src = src.WithCheck(func(_ context.Context, id uint32) error {
			runs++
			if dev.Use(id, src.Key()); w.wrong[name] {
				return errors.New("wrong")
			}
			return dev.Answer(id)
		})
	}
	h, err := c.Get(w.Context(), src)
	w.say("  %s: %v, %d checks", name, err, runs)
	w.mu.Lock()
	defer w.mu.Unlock()
	wrong, isWrong := errors.AsType[*cache.WrongAnswerError](err)
	_, refused := errors.AsType[*shader.CompileError](err)
	switch {
	case isWrong:
		if known[name] = known[name] || wrong.Compiled; !w.wrong[name] && !miscomputes {
			w.Errorf("%s: %v", name, err)
		}
	case refused:
		if !w.refuse[name] {
			w.Errorf("%s: %v", name, err)
		}
	case err != nil:
		w.Errorf("%s: %v", name, err)
	default:
		dev.Use(h.Program(), src.Key())
		switch compiled, right := h.Origin() == job.Compiled, dev.Answer(h.Program()) == nil; {
		case compiled && w.bad[name]:
			w.Errorf("%s compiled", name)
		case n < checked && w.wrong[name] && known[name] && !w.bad[name]:
			w.Errorf("%s is known to compute wrong", name)
		case n < checked && !right && !w.passed[name]:
			w.Errorf("%s is a wrong binary, and no binary of it ever passed", name)
		case runs > 0 || !compiled && right && !w.wrong[name]:
			w.passed[name], known[name] = true, false
		}
		h.Release()
	}
}

// knownWrong returns the programs that are recorded as computed wrong.
func (w *walk) knownWrong(dir string) map[string]bool {
	known := map[string]bool{}
	d, err := binary.OpenDir(dir)
	if err != nil {
		return known // it is damaged
	}
	store, err := d.Store(cachetest.NewDevice().Fingerprint())
	for n := 0; err == nil && n < checked; n++ {
		if src := source(fmt.Sprint("s", n)); store != nil {
			if _, wrong := store.Wrong(src.Key()); wrong {
				known[src.Name()] = true
			}
		}
	}
	return known
}

func (w *walk) prune() {
	d, err := binary.OpenDir(w.dir)
	if err != nil {
		return
	}
	known := w.knownWrong(w.dir)
	report, err := d.Prune(binary.PruneOptions{MaxFiles: w.IntN(8)})
	w.say("prune: %+v, %v", report, err)
	if after := w.knownWrong(w.dir); !maps.Equal(after, known) {
		w.Errorf("%v are computed wrong, %v before the prune", after, known)
	}
}

// damage changes a file or a folder.
func (w *walk) damage() {
	var paths []string
	_ = filepath.WalkDir(filepath.Dir(w.dir), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.Count(strings.TrimPrefix(path, filepath.Dir(w.dir)), "/") > 1 {
			paths = append(paths, path)
		}
		return nil
	})
	if len(paths) == 0 {
		return
	}
	path, other := paths[w.IntN(len(paths))], paths[w.IntN(len(paths))]
	data, _ := os.ReadFile(path)
	way, at := w.IntN(9), w.IntN(1+len(data))
	w.say("damage %d at %d of %s, %s", way, at, path, other)
	switch way {
	case 0:
		data = data[:at]
	case 1:
		data = append(data[:at:at], data...)
	case 2:
		if data = slices.Clone(data); at < len(data) {
			data[at] ^= 1 << w.IntN(8)
		}
	case 3:
		data, _ = os.ReadFile(other)
	case 4, 5:
		at := time.Now().Add(time.Duration(w.IntN(4000)-2000) * time.Hour)
		_ = os.Chtimes(path, at, at)
		return
	}
	_ = os.RemoveAll(path)
	switch way {
	case 6:
		_ = os.Symlink(other, path)
	case 7:
		_ = os.Mkdir(path, 0o700)
	case 8: // it is gone
	default:
		_ = os.WriteFile(path, data, 0o600)
	}
}
