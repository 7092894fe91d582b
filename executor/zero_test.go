//go:build linux

package executor

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shadercache/shadercache/glctx"
)

// everyThird adds 1 to every third word of an output, once for each dispatch.
const everyThird = `
layout(local_size_x = 64) in;
layout(std430, binding = 1) buffer Out { uint y[]; };
void main() { uint i = 3u * gl_GlobalInvocationID.x; if (i < y.length()) { y[i] += 1u; } }`

// thirds returns what n dispatches of everyThird make of words that are zero.
func thirds(words int, n uint32) []uint32 {
	want := make([]uint32, words)
	for i := 0; i < words; i += 3 {
		want[i] = n
	}
	return want
}

// What no dispatch of a job writes of its outputs is zero, and not of the job that had the
// place in the slot before: jobs that write a part follow jobs that write all, and a job
// of no groups follows both, one at a time and together.
func TestOutputsStartAsZeros(t *testing.T) {
	for form, test := range forms {
		for _, together := range []bool{false, true} {
			t.Run(fmt.Sprint(form, ", together ", together), func(t *testing.T) {
				var held atomic.Bool // what is submitted stays on the GPU
				test.pollFence = func(gl *glctx.GL, f glctx.Fence) (bool, error) {
					if held.Load() {
						return false, nil
					}
					return gl.WaitFence(f, 0)
				}
				f := newFixture(t, Options{Depth: 2, SlotBytes: 1 << 16, test: test})
				for _, words := range []int{64, 1000, 4000, 4096} {
					held.Store(together)
					tasks := f.submitParts(words, together)
					held.Store(false)
					f.wantZeros(words, tasks)
				}
			})
		}
	}
}

// submitParts submits jobs that write all of their outputs, and after each one that writes
// every third word as often as dispatchesOfPart says.
func (f *fixture) submitParts(words int, together bool) (tasks []*task) {
	part, none := f.program("every_third", everyThird, nil), f.buffer(make([]uint32, 3))
	once := Dispatch{Program: part, Groups: [3]uint32{uint32(words+191) / 192, 1, 1}}
	never := Dispatch{Program: part, Indirect: &Indirect{Buffer: none.Memory}}
	for i, dispatches := range [][]Dispatch{{once}, {never}, {once, once}} {
		whole, k := newTask(f.affine(), uint32(i), words), newTask(nil, 0, words)
		k.job.Dispatch, k.job.Then, k.job.Inputs = dispatches[0], dispatches[1:], nil
		k.job.Outputs[0].Dirty = dispatches[0].Indirect != nil // what may run nothing is zero nevertheless
		for _, k := range []*task{whole, k} {
			if k.pending = f.submit(k.job); !together {
				f.wait(k.pending)
			}
			tasks = append(tasks, k)
		}
	}
	return tasks
}

var dispatchesOfPart = [...]uint32{1, 0, 2}

func (f *fixture) wantZeros(words int, tasks []*task) {
	for i, n := range dispatchesOfPart {
		f.finish(tasks[2*i])
		f.wait(tasks[2*i+1].pending)
		wantWords(f.t, fmt.Sprintf("%d words, %d dispatches", words, n), tasks[2*i+1].out, thirds(words, n))
	}
}

func wantWords(t testing.TB, what string, got, want []uint32) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: word %d is %#x, not %#x", what, i, got[i], want[i])
			return
		}
	}
}

// Memory starts as zeros, also where it takes the place of some that was released.
func TestMemoryStartsAsZeros(t *testing.T) {
	f := newFixture(t, Options{test: testOptions{poison: true}})
	for _, size := range []int{1, 6, 4096, 1 << 20} {
		for range 3 {
			m, err := f.NewMemory(size)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]byte, size)
			if err := m.Download(t.Context(), 0, got); err != nil {
				t.Fatal(err)
			}
			if i := slices.IndexFunc(got, func(b byte) bool { return b != 0 }); i >= 0 || m.Size() != size {
				t.Errorf("%d bytes of %d: byte %d is not zero", m.Size(), size, i)
			}
			for i := range got {
				got[i] = 0xa5
			}
			if err := m.Upload(t.Context(), 0, got); err != nil {
				t.Fatal(err)
			}
			m.Release()
			f.flushGLThread()
		}
	}
}

// Memory that is bound with Zero is zero when the first dispatch of the job uses it, and only
// in its range, after jobs that wrote it; later dispatches find what the first ones wrote.
func TestBoundMemoryIsSetToZero(t *testing.T) {
	f := newFixture(t, Options{})
	const words = 1000
	at := f.info.StorageAlignment
	old := make([]uint32, at/4+words+at/4)
	for i := range old {
		old[i] = poisonWord
	}
	m := f.buffer(old)
	bound := []Bound{{Binding: 1, Buffer: m.Memory, Offset: at, Size: 4 * words, Zero: true}}
	kernel := Dispatch{Program: f.program("every_third", everyThird, nil), Groups: [3]uint32{6, 1, 1}, Buffers: bound}
	host := kernel
	if f.info.Software() {
		host = Dispatch{Host: &HostCall{Bindings: []uint32{1}, Call: addToThirds}, Buffers: bound}
	}
	for range 2 {
		for _, job := range []Job{{Dispatch: kernel, Then: []Dispatch{host, kernel}}, {Dispatch: host, Then: []Dispatch{kernel, host}}} {
			f.wait(f.submit(job))
			got := make([]uint32, len(old))
			if err := m.Download(t.Context(), 0, got); err != nil {
				t.Fatal(err)
			}
			wantWords(t, "in the range", got[at/4:], thirds(words, 3))
			wantWords(t, "around it", slices.Concat(got[:at/4], got[at/4+words:]), slices.Concat(old[:at/4], old[at/4+words:]))
		}
	}
}

// addToThirds is everyThird on the host.
func addToThirds(memory [][]byte) error {
	for i := 0; i < len(memory[0]); i += 12 {
		memory[0][i]++
	}
	return nil
}

// BenchmarkZeroOutputs measures what setting outputs to zero costs jobs with as many bytes
// out as in: one at a time, and with as many pending as there is room for.
func BenchmarkZeroOutputs(b *testing.B) {
	for _, bytes := range []int{4 << 10, 16<<20 - 256} { // the most groups along x
		for _, pending := range []int{1, 4} {
			for _, zero := range []bool{false, true} {
				b.Run(fmt.Sprintf("bytes=%d/pending=%d/zero=%v", bytes, pending, zero), func(b *testing.B) {
					f := newFixture(b, Options{SlotBytes: bytes})
					tasks := make([]*task, pending)
					for i := range tasks {
						tasks[i] = newTask(f.affine(), uint32(i), bytes/4)
						tasks[i].job.Outputs[0].Dirty = !zero
						tasks[i].pending = f.submit(tasks[i].job)
					}
					b.SetBytes(int64(bytes))
					for i := 0; b.Loop(); i++ {
						k := tasks[i%pending]
						f.wait(k.pending) // the results are compared at the end
						k.pending = f.submit(k.job)
					}
					for _, k := range tasks {
						f.finish(k)
					}
				})
			}
		}
	}
}
