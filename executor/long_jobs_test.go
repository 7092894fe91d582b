//go:build linux

package executor

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// rounds makes steps of a linear congruential generator, each of which needs the one before.
const rounds = `
layout(local_size_x = 256) in;
layout(std430, binding = 0) restrict readonly buffer In { uint x[]; };
layout(std430, binding = 1) restrict writeonly buffer Out { uint y[]; };
uniform uint rounds;
void main() {
    uint i = gl_GlobalInvocationID.x;
    uint v = x[i];
    for (uint k = 0u; k < rounds; ++k) {
        v = v * 1664525u + 1013904223u;
    }
    y[i] = v;
}`

const longWords = 1024 // of a job, each way

// BenchmarkLongJobs measures jobs of 4 KiB each way whose kernels take a millisecond, each in
// a batch of its own, with Depth of them pending: CPU time for each job, of all threads, of the
// GL thread, of that of the caller and of the others, and how often these began to run. Every
// word is compared.
func BenchmarkLongJobs(b *testing.B) {
	for _, o := range []Options{{Depth: 1}, {Depth: 2}, {Depth: 3}, {Depth: 8}, {Depth: 16, MaxDelay: 6 * time.Millisecond}} {
		b.Run(fmt.Sprintf("depth=%d/delay=%v", o.Depth, o.MaxDelay), func(b *testing.B) {
			o.SlotJobs, o.SlotBytes = 1, 4*longWords
			benchmarkLong(b, o, o.Depth, time.Millisecond)
		})
	}
}

// BenchmarkShortJobs is BenchmarkLongJobs with kernels of 2 us, in batches.
func BenchmarkShortJobs(b *testing.B) {
	for _, depth := range []int{2, 3, 8} {
		b.Run(fmt.Sprintf("depth=%d", depth), func(b *testing.B) {
			o := Options{Depth: depth, SlotJobs: 256, SlotBytes: 256 * 4 * longWords}
			benchmarkLong(b, o, (depth-1)*o.SlotJobs, 2*time.Microsecond)
		})
	}
}

func benchmarkLong(b *testing.B, o Options, pending int, length time.Duration) {
	f := newFixture(b, o)
	h := f.program("rounds", rounds, nil)
	long := &longJobs{f: f, jobs: make([]longJob, pending), rounds: f.roundsFor(h, length)}
	for i := range long.jobs {
		long.jobs[i].prepare(h, long.rounds)
	}
	long.do(max(50, 4*pending))
	gl := f.glThread()
	caller, before, polls := int64(syscall.Gettid()), threadUses(b), f.Stats()
	b.ResetTimer()
	long.do(b.N)
	b.StopTimer()
	after, pollsAfter := threadUses(b), f.Stats()
	if now := int64(syscall.Gettid()); now != caller {
		b.Logf("the caller went from thread %d to %d", caller, now)
	}
	var sum, others threadUse
	var each []string
	report := func(name string, use threadUse) {
		b.ReportMetric(float64(use.cpu.Nanoseconds())/1e3/float64(b.N), name+"-us/job")
		b.ReportMetric(float64(use.runs)/float64(b.N), name+"-runs/job")
	}
	for id, use := range after {
		use.cpu -= before[id].cpu
		use.runs -= before[id].runs
		sum.cpu, sum.runs = sum.cpu+use.cpu, sum.runs+use.runs
		switch id {
		case gl:
			report("gl", use)
		case caller:
			report("caller", use)
		default:
			others.cpu, others.runs = others.cpu+use.cpu, others.runs+use.runs
			if use.cpu > time.Microsecond*time.Duration(b.N) {
				each = append(each, fmt.Sprintf("%.1f us in %.2f runs", float64(use.cpu.Nanoseconds())/1e3/float64(b.N), float64(use.runs)/float64(b.N)))
			}
		}
	}
	b.Logf("other threads with a microsecond a job and more: %v", each)
	report("others", others)
	report("all", sum)
	b.ReportMetric(float64(pollsAfter.Polls-polls.Polls)/float64(b.N), "polls/job")
	b.ReportMetric(float64(pollsAfter.Sleeps-polls.Sleeps)/float64(b.N), "sleeps/job")
	b.ReportMetric(100*float64(sum.cpu)/float64(b.Elapsed()), "cpu-percent")
}

// longJobs are jobs that are pending in turn.
type longJobs struct {
	f      *fixture
	jobs   []longJob
	rounds uint32
	number uint32
}

// longJob is a job that is written and checked where it is mapped.
type longJob struct {
	number  uint32
	a, c    uint32 // what the rounds do to a word: x becomes a*x + c
	wrong   int
	job     Job
	pending Pending
}

func (k *longJob) prepare(h *cache.Handle, n uint32) {
	k.a, k.c = 1, 0
	for range n {
		k.a, k.c = k.a*1664525, k.c*1664525+1013904223
	}
	k.job = Job{
		Dispatch: Dispatch{Program: h, Groups: [3]uint32{longWords / 256, 1, 1}, Uniforms: []job.Uniform{job.Uint("rounds", n)}},
		Inputs:   []Input{{Binding: 0, Size: 4 * longWords, Fill: k.fill}},
		Outputs:  []Output{{Binding: 1, Dirty: true, Size: 4 * longWords, Read: k.read}},
	}
}

func (k *longJob) fill(dst []byte) {
	for i := range uint32(longWords) {
		binary.NativeEndian.PutUint32(dst[4*i:], k.number*2654435761+i)
	}
}

func (k *longJob) read(src []byte) {
	for i := range uint32(longWords) {
		if binary.NativeEndian.Uint32(src[4*i:]) != k.a*(k.number*2654435761+i)+k.c {
			k.wrong++
		}
	}
}

// do runs n jobs and waits for all of them.
func (l *longJobs) do(n int) {
	for i := range n + len(l.jobs) {
		k := &l.jobs[i%len(l.jobs)]
		if k.pending.batch != nil {
			l.f.wait(&k.pending)
		}
		if i >= n {
			continue
		}
		l.number++
		k.number = l.number
		if err := l.f.SubmitInto(l.f.t.Context(), &k.job, &k.pending); err != nil {
			l.f.t.Fatal(err)
		}
	}
	for i := range l.jobs {
		if l.jobs[i].wrong > 0 {
			l.f.t.Fatalf("%d words are wrong", l.jobs[i].wrong)
		}
	}
}

// roundsFor returns the rounds, as far as a software driver has them, with which the kernel
// takes that time.
func (f *fixture) roundsFor(h *cache.Handle, limit time.Duration) uint32 {
	f.t.Helper()
	most := 4_000_000.0
	if f.info.Software() {
		most = 30_000
	}
	n := 1000.0
	err := f.context.Do(func(gl *glctx.GL) error {
		gl.UseProgram(h.Program())
		location := gl.UniformLocation(h.Program(), "rounds")
		gl.BindStorageRange(0, f.slots[0].inputs, 0, 4*longWords)
		gl.BindStorageRange(1, f.slots[0].outputs, 0, 4*longWords)
		for range 8 {
			gl.SetUint(location, uint32(n))
			gl.Finish()
			start := time.Now()
			for range 5 {
				gl.Dispatch(longWords/256, 1, 1)
				gl.MemoryBarrier(glctx.BarrierStorage) // one after the other
			}
			gl.Finish()
			n = min(max(n*5*float64(limit)/float64(time.Since(start)), 1), most)
		}
		return gl.Err()
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return uint32(n)
}

// glThread returns the id of the GL thread.
func (f *fixture) glThread() (id int64) {
	f.t.Helper()
	if err := f.context.Do(func(*glctx.GL) error { id = int64(syscall.Gettid()); return nil }); err != nil {
		f.t.Fatal(err)
	}
	return id
}

// threadUse is the CPU time of a thread, and how often it began to run.
type threadUse struct {
	cpu  time.Duration
	runs int64
}

// threadUses returns that of every thread of this process, by id.
func threadUses(t testing.TB) map[int64]threadUse {
	t.Helper()
	uses := map[int64]threadUse{}
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil || len(files) == 0 {
		t.Skip("there is no /proc/self/task/*/schedstat")
	}
	slices.Sort(files)
	for _, file := range files {
		var id, waited int64
		var use threadUse
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		_, first := fmt.Sscan(strings.Split(file, "/")[4], &id)
		_, second := fmt.Sscan(string(text), (*int64)(&use.cpu), &waited, &use.runs)
		if first != nil || second != nil {
			t.Fatalf("%s: %q", file, text)
		}
		uses[id] = use
	}
	return uses
}
