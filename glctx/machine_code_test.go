//go:build linux && cgo

package glctx_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// machineCodeChild makes a child process of the test load programs: a JSON
// machineCodeTask.
const machineCodeChild = "GLCTX_TEST_MACHINE_CODE"

// machineCodePrograms is the number of programs in the cache that is pruned.
const machineCodePrograms = 12

type machineCodeTask struct {
	Dir     string // "" = that of the environment
	First   int    // program; those after it follow
	Preload bool   // together, as a cold start does; else one after the other
	Full    bool   // the volume may be full: what cannot be stored is no error
	Kind    glctx.Kind
	Version string // the text's first line; "" = the default
	Adopt   bool   // the context is one that the test has made
}

func machineCodeSources(version string) (list []*shader.Source) {
	for i := range machineCodePrograms {
		list = append(list, shader.MustSource(fmt.Sprintf("program%d", i), version+doubler,
			shader.Defines{"FACTOR": fmt.Sprintf("%d.0", i+2)}))
	}
	return list
}

// TestMachineCodeChild gets programs as a process of its own, and runs each.
func TestMachineCodeChild(t *testing.T) {
	var task machineCodeTask
	if os.Getenv(machineCodeChild) == "" {
		return
	}
	if err := json.Unmarshal([]byte(os.Getenv(machineCodeChild)), &task); err != nil {
		t.Fatal(err)
	}
	c, err := task.open(t)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	programs, err := cache.New(c, cache.Options{Dir: task.Dir, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		t.Fatal(err)
	}
	sources := machineCodeSources(task.Version)[task.First:]
	if task.Preload {
		if _, err := programs.Preload(t.Context(), sources, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i, src := range sources {
		h, err := programs.Get(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		wantTimes(t, run(t, c, h.Program()), float32(task.First+i+2))
		h.Release()
	}
	if err := programs.Flush(); err != nil && !task.Full {
		t.Fatal(err)
	}
	out, err := json.Marshal(programs.Stats().Counters)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("counters: %s\n", out)
	if err := programs.Close(); err != nil && !task.Full {
		t.Error(err)
	}
}

// open opens the context of a task.
func (task machineCodeTask) open(t *testing.T) (*glctx.Context, error) {
	if !task.Adopt {
		return glctx.Open(glctx.Options{CacheDir: task.Dir, Kind: task.Kind})
	}
	glctx.ManageDriverCache(glctx.Options{CacheDir: task.Dir})
	glctx.OwnContextOf(t, task.Kind)
	return glctx.Adopt(glctx.Options{CacheDir: task.Dir}, nil)
}

// loadInChild runs a task in a process of its own and returns its counters. Each change is
// made to the command before it starts.
func loadInChild(t *testing.T, task machineCodeTask, changes ...func(*exec.Cmd)) (counters binary.Counters) {
	t.Helper()
	text, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(executable, "-test.run=^TestMachineCodeChild$")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		cache, mesa := strings.CutPrefix(v, "MESA_")
		return mesa && !strings.HasPrefix(cache, "LOADER_") || strings.HasPrefix(v, "__GL_SHADER") || strings.HasPrefix(v, "SHADERCACHE_DRIVER_DIR=") ||
			strings.HasPrefix(v, fullVolumeChild+"=")
	})
	cmd.Env = append(cmd.Env, machineCodeChild+"="+string(text))
	for _, change := range changes {
		change(cmd)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, line, found := strings.Cut(string(out), "counters: ")
	if line, _, _ = strings.Cut(line, "\n"); !found || json.Unmarshal([]byte(line), &counters) != nil {
		t.Fatalf("output %s", out)
	}
	return counters
}

// driverItems lists what is in the driver's cache.
func driverItems(dir *binary.Dir) (items []string) {
	for _, it := range drivercache.Items(dir.DriverDir()) {
		items = append(items, it.Entry+" "+strings.Join(it.Paths, " "))
	}
	slices.Sort(items)
	return items
}

// storedPrograms returns the entries of the directory's programs by name, and the bytes
// that a size limit counts.
func storedPrograms(t *testing.T, dir *binary.Dir) (entries map[string]string, bytes int64) {
	t.Helper()
	entries, bytes = map[string]string{}, dir.DriverBytes()
	err := dir.EachStore(func(_ string, store *binary.Store) error {
		for e, err := range store.All() {
			if err != nil {
				return err
			}
			entries[e.Name] = e.DriverEntries
			bytes += e.Bytes
		}
		return nil
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return entries, bytes
}

// TestPruneKeepsLayersTogether prunes a cache to half of its size. The programs that are
// left are those that were used last, and a later process gets them without compiling
// anything: neither the programs nor their machine code.
func TestPruneKeepsLayersTogether(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "cache")
	if n := loadInChild(t, machineCodeTask{Dir: path, Preload: true}); n.Compiles != machineCodePrograms || n.MachineCodeMisses != 0 {
		t.Fatalf("cold: %+v", n)
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	made, _ := storedPrograms(t, dir)
	items := driverItems(dir)
	if n := loadInChild(t, machineCodeTask{Dir: path}); n.Compiles != 0 || n.DiskHits != machineCodePrograms || n.MachineCodeMisses != 0 {
		t.Fatalf("warm: %+v", n)
	}
	if now := driverItems(dir); !slices.Equal(items, now) {
		t.Errorf("the second process changed the driver's cache\nfrom %q\nto   %q", items, now)
	}
	loaded, total := storedPrograms(t, dir)
	checkAttribution(t, made, loaded, items)

	limit := total / 2
	report, err := dir.Prune(binary.PruneOptions{MaxBytes: limit})
	if err != nil || report.DriverInUse {
		t.Fatalf("%+v, %v", report, err)
	}
	left, bytes := storedPrograms(t, dir)
	t.Logf("%d bytes, limit %d: %d programs and %d bytes are left; %+v", total, limit, len(left), bytes, report)
	if bytes > limit || len(left) < machineCodePrograms/3 || len(left) == machineCodePrograms {
		t.Errorf("%d programs, %d bytes are left of %d, limit %d", len(left), bytes, total, limit)
	}
	first := machineCodePrograms - len(left)
	for i := first; i < machineCodePrograms; i++ {
		if _, ok := left[fmt.Sprintf("program%d", i)]; !ok {
			t.Errorf("program %d is gone, and older ones are left", i)
		}
	}
	// A driver may have shaders of its own, for copies and clears, which belong to no program
	// or to the first one.
	entries := strings.Join(slices.Collect(maps.Values(left)), " ")
	others := func(item string) bool {
		entry, _, _ := strings.Cut(item, " ")
		return !strings.Contains(entries, entry)
	}
	items = slices.DeleteFunc(driverItems(dir), others)
	n := loadInChild(t, machineCodeTask{Dir: path, First: first})
	if n.Compiles != 0 || n.DiskHits != uint64(len(left)) || n.MachineCodeMisses != 0 {
		t.Errorf("after the prune: %+v", n)
	}
	if now := slices.DeleteFunc(driverItems(dir), others); !slices.Equal(items, now) || len(items) == 0 {
		t.Errorf("machine code was made again\nbefore %q\nafter  %q", items, now)
	}
	n = loadInChild(t, machineCodeTask{Dir: path})
	if n.Compiles != uint64(first) || n.MachineCodeMisses != 0 {
		t.Errorf("all programs after the prune: %+v", n)
	}

	if err := os.RemoveAll(dir.DriverDir()); err != nil {
		t.Fatal(err)
	}
	n = loadInChild(t, machineCodeTask{Dir: path})
	if n.Compiles != 0 || n.MachineCodeMisses != machineCodePrograms {
		t.Errorf("without the driver's cache: %+v", n)
	}
}

// checkAttribution checks that each program has entries of its own, that they exist, and
// that those which a load uses were attributed to the program when it was compiled.
func checkAttribution(t *testing.T, made, loaded map[string]string, items []string) {
	t.Helper()
	own := map[string]bool{}
	for name, entries := range loaded {
		if entries == "" || own[entries] {
			t.Errorf("%s has the entries %q", name, entries)
		}
		own[entries] = true
		for entry := range strings.FieldsSeq(entries) {
			if !slices.Contains(strings.Fields(made[name]), entry) {
				t.Errorf("%s uses %s; when it was compiled it got %q", name, entry, made[name])
			}
			if !slices.ContainsFunc(items, func(it string) bool { return strings.HasPrefix(it, entry+" ") }) {
				t.Errorf("%s uses %s, which does not exist", name, entry)
			}
		}
	}
}
