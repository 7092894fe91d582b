//go:build linux

package executor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
)

// newSoftwareFixture is newFixture, and skips where kernels do not run on the CPU.
func newSoftwareFixture(t *testing.T, o Options) *fixture {
	t.Helper()
	f := newFixture(t, o)
	if !f.context.Info().Software() {
		t.Skip("only for software drivers")
	}
	return f
}

// hostAffine returns a call that computes a*x + b of every word, from binding 0 to 1.
func hostAffine(a, b uint32) *HostCall {
	return &HostCall{Name: "affine", Bindings: []uint32{0, 1}, Call: func(memory [][]byte) error {
		for i := 0; i < len(memory[1]); i += 4 {
			word := a*nativeWord(memory[0][i:]) + b
			copy(memory[1][i:], glctx.Bytes([]uint32{word}))
		}
		return nil
	}}
}

// nativeWord returns the word that memory starts with.
func nativeWord(memory []byte) uint32 {
	word := make([]uint32, 1)
	copy(glctx.Bytes(word), memory)
	return word[0]
}

const hostWords = 300

// testMemories makes memory in every way that jobs may be given it.
func (f *fixture) testMemories() map[string]func() *Memory {
	page := unix.Getpagesize()
	return map[string]func() *Memory{
		"device": func() *Memory { return f.must(f.NewMemory(4 * hostWords)) },
		"mapped": func() *Memory {
			m, _, err := f.NewMappedMemory(4*hostWords, false)
			return f.must(m, err)
		},
		"pinned": func() *Memory {
			if !f.context.Info().PinnedMemory() {
				f.t.Skip("no pinned memory")
			}
			mapping, err := unix.Mmap(-1, 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_SHARED)
			if err != nil {
				f.t.Fatal(err)
			}
			return f.must(f.NewPinnedMemory(mapping, func() { _ = unix.Munmap(mapping) }))
		},
	}
}

func (f *fixture) must(m *Memory, err error) *Memory {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(m.Release)
	return m
}

// TestHostCallsAreOrdered has jobs of a kernel, the host and a kernel again, many at a time,
// on the same memory, of every kind.
func TestHostCallsAreOrdered(t *testing.T) {
	for _, kind := range []string{"device", "mapped", "pinned"} {
		t.Run(kind, func(t *testing.T) {
			f := newSoftwareFixture(t, Options{})
			h := f.affine()
			first, second := f.testMemories()[kind](), f.testMemories()[kind]()
			tasks := make([]*task, 8)
			for i := range tasks {
				k := newTask(h, uint32(i), hostWords)
				groups := k.job.Groups
				k.job.Buffers = []Bound{{Binding: 1, Buffer: first, Size: 4 * hostWords}}
				k.job.Then = []Dispatch{
					{Host: hostAffine(3, uint32(i)), Buffers: []Bound{
						{Binding: 0, Buffer: first, Size: 4 * hostWords, ReadOnly: true}, {Binding: 1, Buffer: second, Size: 4 * hostWords},
					}},
					{Program: h, Groups: groups, Uniforms: []job.Uniform{job.Uint("a", 5), job.Uint("b", 1)},
						Buffers: []Bound{{Binding: 0, Buffer: second, Size: 4 * hostWords, ReadOnly: true}}},
				}
				tasks[i], k.pending = k, f.submit(k.job)
			}
			for i, k := range tasks {
				f.wait(k.pending)
				for w, v := range k.out {
					if want := 5*(3*(k.a*k.in[w]+k.b)+uint32(i)) + 1; v != want {
						t.Fatalf("job %d: word %d is %d, want %d", i, w, v, want)
					}
				}
			}
		})
	}
}

// TestHostCallsUseInputsAndOutputs has jobs that are one call of the host, between those of
// a kernel in the same batches.
func TestHostCallsUseInputsAndOutputs(t *testing.T) {
	f := newSoftwareFixture(t, Options{})
	h := f.affine()
	for i := range uint32(20) {
		k := newTask(h, i, 77)
		if i%2 == 0 {
			k.job.Dispatch = Dispatch{Host: hostAffine(k.a, k.b)}
		}
		k.pending = f.submit(k.job)
		defer f.finish(k)
	}
}

// TestHostCallsThatFail is that their job fails, without the dispatches after them, and no
// other one.
func TestHostCallsThatFail(t *testing.T) {
	f := newSoftwareFixture(t, Options{})
	h := f.affine()
	failure := errors.New("no such product")
	later := 0
	broken := newTask(h, 1, hostWords)
	broken.job.Dispatch = Dispatch{Host: &HostCall{Name: "broken", Bindings: []uint32{1}, Call: func([][]byte) error { return failure }}}
	broken.job.Inputs = nil
	broken.job.Then = []Dispatch{{Host: &HostCall{Name: "later", Call: func([][]byte) error { later++; return nil }}}}
	pending := f.submit(broken.job)
	right := newTask(h, 2, hostWords)
	right.pending = f.submit(right.job)
	if err := pending.Wait(t.Context()); !errors.Is(err, failure) || !strings.Contains(err.Error(), "broken") || later != 0 {
		t.Errorf("%v, and %d calls after it", err, later)
	}
	f.finish(right)
}

func TestHostCallsAreChecked(t *testing.T) {
	f := newSoftwareFixture(t, Options{})
	h := f.affine()
	good := func() Job {
		k := newTask(h, 1, 8)
		k.job.Dispatch = Dispatch{Host: hostAffine(1, 2)}
		return k.job
	}
	for want, change := range map[string]func(*Job){
		"it has no Call":                   func(j *Job) { j.Host = &HostCall{Name: "x"} },
		"it has a program too":             func(j *Job) { j.Program = h },
		"what only programs use":           func(j *Job) { j.Groups[1] = 1 },
		"binding 0 is bound 0 times":       func(j *Job) { j.Inputs = nil },
		"binding 1 is bound 2 times":       func(j *Job) { j.Outputs = append(j.Outputs, j.Outputs[0]) },
		"memory at binding 4: there is no": func(j *Job) { j.Buffers = []Bound{{Binding: 4}} },
		"output at binding 9":              func(j *Job) { j.Outputs = append(j.Outputs, Output{Binding: 9, To: make([]byte, 4)}) },
		glctx.ErrNotSoftware.Error():       func(*Job) { f.info.GPU = "a GPU" },
	} {
		job, info := good(), f.info
		change(&job)
		_, err := f.Submit(context.Background(), job)
		f.info = info
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}
