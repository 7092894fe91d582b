//go:build linux

package systemtest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// The soak: processes use one cache directory at random, with real OpenGL, while others
// of them are killed and their volume is full at times. Every result is compared.
const (
	soakPrograms = 40
	soakVolume   = 24 << 20 // bytes: the machine code of all programs does not always fit
	soakWorkers  = 3        // processes, of which one is never killed

	// soakVariable has the cache directory, the seed and the kind of a worker.
	soakVariable = "SHADERCACHE_TEST_SOAK"
)

// soakTime returns how long the soak takes: $SHADERCACHE_SOAK_TIME, else an hour, or
// seconds in a usual test.
func soakTime(t *testing.T) time.Duration {
	switch text := os.Getenv("SHADERCACHE_SOAK_TIME"); {
	case text != "":
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	case os.Getenv("SHADERCACHE_SOAK") == "1":
		return time.Hour
	}
	return 3 * time.Second
}

// runSoakWorker ends the process if the test started it as a worker.
func runSoakWorker() {
	line := os.Getenv(soakVariable)
	if line == "" {
		return
	}
	var w soakWorker
	if _, err := fmt.Sscan(line, &w.dir, &w.seed, &w.steady); err != nil {
		panic(err)
	}
	if err := w.run(); err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func soakProgram(n int) *shader.Source {
	return shader.MustSource(fmt.Sprint("soak", n), `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { uint from[]; };
layout(std430, binding = 1) writeonly buffer Out { uint to[]; };
void main() {
	uint i = gl_GlobalInvocationID.x, x = from[i];
	for (uint k = 0u; k < FACTOR; k++) x = x * 1664525u + FACTOR;
	to[i] = x;
}`, shader.Defines{"FACTOR": fmt.Sprint(n+3, "u")})
}

func soakExpected(n int, x uint32) uint32 {
	for range n + 3 {
		x = x*1664525 + uint32(n+3)
	}
	return x
}

// soakWorker is a process of the soak.
type soakWorker struct {
	dir    string
	seed   uint64
	steady bool // is not killed, keeps its context, and prints what it holds

	random *rand.Rand
	gpu    *shadercache.GPU
}

func (w *soakWorker) run() error {
	w.random = rand.New(rand.NewPCG(w.seed, 7))
	if err := w.open(); err != nil {
		return err
	}
	stop := make(chan struct{})
	go func() { // the parent ends the worker by its input
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		close(stop)
	}()
	printed := time.Now()
	for {
		select {
		case <-stop:
			return w.close()
		default:
		}
		if err := w.step(); err != nil {
			return err
		}
		if w.steady && time.Since(printed) > 200*time.Millisecond {
			printed = time.Now()
			fmt.Println(w.size())
		}
	}
}

func (w *soakWorker) open() (err error) {
	w.gpu, err = shadercache.Open(shadercache.Options{
		Dir:      w.dir,
		Cache:    cache.Options{MaxPrograms: soakPrograms / 2, KeepEvictedBytes: 64 << 10},
		Executor: executor.Options{SlotBytes: 1 << 16},
	})
	return err
}

// close closes the GPU. The last statistics may find no room.
func (w *soakWorker) close() error {
	if err := w.gpu.Close(); !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return nil
}

// step does one thing at random. What needs room on the disk may fail; what the
// application asked for may not.
func (w *soakWorker) step() error {
	switch w.random.IntN(12) {
	case 0:
		first := w.random.IntN(soakPrograms - 5)
		var sources []*shader.Source
		for n := first; n < first+5; n++ {
			sources = append(sources, soakProgram(n))
		}
		results, err := w.gpu.Cache.Preload(context.Background(), sources, nil)
		for _, r := range results {
			err = errors.Join(err, r.Err)
		}
		return err
	case 1:
		_ = w.gpu.Cache.Flush()
	case 2:
		if store, ok := w.gpu.Cache.Store().(*binary.Store); ok {
			_, _ = store.Dir().Prune(binary.PruneOptions{MaxBytes: 1 + w.random.Int64N(soakVolume)})
		}
	case 3:
		if w.steady {
			return nil
		}
		if err := w.close(); err != nil {
			return err
		}
		return w.open()
	}
	return w.compute(w.random.IntN(soakPrograms))
}

func (w *soakWorker) compute(n int) error {
	program, err := w.gpu.Cache.Get(context.Background(), soakProgram(n))
	if err != nil {
		return err
	}
	defer program.Release()
	from, to := make([]uint32, 64), make([]uint32, 64)
	for i := range from {
		from[i], to[i] = w.random.Uint32(), 0xDEADBEEF
	}
	pending, err := w.gpu.Executor.Submit(context.Background(), job.Job{
		Dispatch: job.Dispatch{Program: program, Groups: [3]uint32{1, 1, 1}},
		Inputs:   []job.Input{{Binding: 0, Data: glctx.Bytes(from)}},
		Outputs:  []job.Output{{Binding: 1, To: glctx.Bytes(to)}},
	})
	if err == nil {
		err = pending.Wait(context.Background())
	}
	if err != nil {
		return err
	}
	for i, x := range from {
		if want := soakExpected(n, x); to[i] != want {
			return fmt.Errorf("wrong result: program %d, element %d: got %d, want %d", n, i, to[i], want)
		}
	}
	return nil
}

// size returns what the process holds: KiB of memory, descriptors, goroutines, buffers,
// fences and program handles.
func (w *soakWorker) size() string {
	runtime.GC()
	status, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(status))
	pages := 0
	if len(fields) > 1 {
		pages, _ = strconv.Atoi(fields[1])
	}
	descriptors, _ := os.ReadDir("/proc/self/fd")
	n := w.gpu.Context.Counters()
	return fmt.Sprintln("size", pages*os.Getpagesize()>>10, len(descriptors), runtime.NumGoroutine(), n.Buffers, n.Fences, w.gpu.Cache.Stats().InUse)
}

func TestSoak(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	volume, bounded := soakDir(t)
	s := &soak{t: t, dir: filepath.Join(volume, "cache"), random: rand.New(rand.NewPCG(11, 13)), heard: time.Now()}
	for i := range soakWorkers {
		s.start(i)
	}
	kills, fills := 0, 0
	for end := time.Now().Add(soakTime(t)); time.Now().Before(end) && !t.Failed(); {
		time.Sleep(time.Duration(50+s.random.IntN(1500)) * time.Millisecond)
		switch {
		case bounded && s.random.IntN(4) == 0:
			fillVolume(volume, time.Duration(s.random.IntN(500))*time.Millisecond)
			fills++
		default:
			i := 1 + s.random.IntN(soakWorkers-1)
			s.kill(i)
			s.start(i)
			kills++
		}
		s.checkStall()
	}
	for _, w := range s.workers {
		s.stop(w)
	}
	t.Logf("%d processes killed, volume full %d times, %d sizes", kills, fills, len(s.sizes))
	s.checkSizes()
	s.checkDirectory()
}

// soakDir returns a folder for the cache: a small volume where that can be mounted.
func soakDir(t *testing.T) (dir string, bounded bool) {
	dir = t.TempDir()
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", fmt.Sprint("mode=700,size=", soakVolume), "tmpfs", dir).CombinedOutput()
	if err != nil {
		t.Logf("the volume is never full: %v: %s", err, out)
		return dir, false
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir, true
}

// fillVolume leaves no byte of the volume for a time.
func fillVolume(dir string, d time.Duration) {
	path := filepath.Join(dir, "filler")
	defer os.Remove(path)
	f, err := os.Create(path)
	if err != nil {
		return
	}
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err := f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	time.Sleep(d)
}

// soak runs the workers.
type soak struct {
	t       *testing.T
	dir     string
	random  *rand.Rand
	seed    uint64
	workers [soakWorkers]*soakProcess

	mu    sync.Mutex
	sizes [][6]int
	heard time.Time // of the last size
}

// soakStall is how long the steady process may print no size: many times what it takes on
// a busy machine.
const soakStall = time.Minute

// checkStall fails where the steady process is stuck, and has it print what its goroutines
// do.
func (s *soak) checkStall() {
	s.mu.Lock()
	silent := time.Since(s.heard)
	s.mu.Unlock()
	if silent > soakStall {
		s.t.Errorf("stall: the process that is not killed has printed no size for %v", silent.Round(time.Second))
		_ = s.workers[0].command.Process.Signal(syscall.SIGQUIT)
	}
}

type soakProcess struct {
	command *exec.Cmd
	input   interface{ Close() error }
	output  sync.WaitGroup
	killed  bool
}

func (s *soak) start(i int) {
	s.seed++
	executable, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	w := &soakProcess{command: exec.Command(executable)}
	w.command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %t", soakVariable, s.dir, s.seed, i == 0),
		"GORACE=atexit_sleep_ms=0")
	w.command.Stderr = os.Stderr
	input, err1 := w.command.StdinPipe()
	output, err2 := w.command.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		s.t.Fatal(err)
	}
	w.input = input
	if err := w.command.Start(); err != nil {
		s.t.Fatal(err)
	}
	w.output.Go(func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			s.read(lines.Text())
		}
	})
	s.workers[i] = w
}

func (s *soak) read(line string) {
	var size [6]int
	if _, err := fmt.Sscanf(line, "size %d %d %d %d %d %d", &size[0], &size[1], &size[2], &size[3], &size[4], &size[5]); err == nil {
		s.mu.Lock()
		s.sizes, s.heard = append(s.sizes, size), time.Now()
		s.mu.Unlock()
	} else if line != "" {
		s.t.Error(line)
	}
}

func (s *soak) kill(i int) {
	s.workers[i].killed = true
	_ = s.workers[i].command.Process.Kill()
	s.wait(s.workers[i])
}

func (s *soak) stop(w *soakProcess) {
	_ = w.input.Close()
	s.wait(w)
}

func (s *soak) wait(w *soakProcess) {
	w.output.Wait()
	err := w.command.Wait()
	exit, failed := errors.AsType[*exec.ExitError](err)
	if failed && w.killed && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
		return
	}
	if err != nil {
		s.t.Errorf("a worker ended: %v", err)
	}
}

// checkSizes compares the second quarter of the time with the last one.
func (s *soak) checkSizes() {
	quarter := len(s.sizes) / 4
	if quarter < 10 {
		return // too short to tell
	}
	median := func(sizes [][6]int, what int) int {
		var values []int
		for _, size := range sizes {
			values = append(values, size[what])
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	for what, unit := range []string{"KiB of memory", "descriptors", "goroutines", "buffers", "fences", "program handles"} {
		early, late := median(s.sizes[quarter:2*quarter], what), median(s.sizes[3*quarter:], what)
		s.t.Logf("%d %s early, %d late", early, unit, late)
		slack := 2
		if what == 0 {
			slack = early/10 + 8<<10
		}
		if late > early+slack {
			s.t.Errorf("%s grow: %d early, %d late", unit, early, late)
		}
	}
}

// checkDirectory demands that the directory is good and refuses no program, which the
// deaths of so many processes might have caused.
func (s *soak) checkDirectory() {
	for _, when := range []string{"first", "second"} {
		gpu, err := shadercache.Open(shadercache.Options{Dir: s.dir, NoExecutor: true})
		if err != nil {
			s.t.Fatal(err)
		}
		for n := range soakPrograms {
			p, err := gpu.Cache.Get(s.t.Context(), soakProgram(n))
			if err != nil {
				s.t.Errorf("%s start after the soak: program %d: %v", when, n, err)
				continue
			}
			p.Release()
		}
		if err := gpu.Close(); err != nil {
			s.t.Error(err)
		}
	}
	dir, err := binary.OpenDir(s.dir)
	if err != nil {
		s.t.Fatal(err)
	}
	if r, err := dir.Verify(false, nil); err != nil || r.Damaged != 0 || r.Quarantined != 0 {
		s.t.Errorf("verify: %+v, %v", r, err)
	}
}
