//go:build linux

package kernel

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

func TestMain(m *testing.M) { gltest.Main(m) }

// doubleKernel doubles the input and counts up a semaphore by left.
const doubleKernel = `#version 450 core
layout(local_size_x = 32) in;
layout(std430, binding = 0) readonly buffer Input { float values[]; };
layout(std430, binding = 1) buffer Output { float doubled[]; };
layout(std430, binding = 2) buffer Semaphores { uint semaphores[]; };
layout(std430, binding = 3) buffer Workspace { float work[]; };
uniform int count, left, beyond;
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i < count) {
        doubled[i] = 2.0 * values[i];
    }
    if (i == 0) {
        semaphores[0] += uint(left);
        work[beyond] = 1.0;
    }
}
`

const doubleLen = 40

// doubling returns the sequence with the kernel; left stays in the semaphore, and the
// workspace, of 4 elements, is written at beyond.
func doubling(count, left, beyond int) Sequence {
	return Sequence{
		Steps: []Step{{
			Source: shader.MustSource("double", doubleKernel, nil), Groups: [3]int{4, 1, 1},
			Uniforms: Ints{{"count", count}, {"left", left}, {"beyond", beyond}}.Uniforms(),
			Bindings: []Binding{Input.At(0), Output.At(1), Semaphores.At(2), Workspace.At(3)},
		}},
		WorkspaceLen: 4, SemaphoreCount: 1,
	}
}

// TestChecked runs a kernel that is right, and ones that write too far or leave a
// semaphore.
func TestChecked(t *testing.T) {
	context := gltest.Open(t)
	input := make([]float32, doubleLen)
	want := make([]float32, doubleLen)
	for i := range input {
		input[i], want[i] = float32(i), float32(2*i)
	}
	for _, test := range []struct {
		name     string
		sequence Sequence
		err      error
	}{
		{"right", doubling(doubleLen, 0, 3), nil},
		{"past the output", doubling(doubleLen+1, 0, 3), ErrOverrun},
		{"past the workspace", doubling(doubleLen, 0, 4), ErrOverrun},
		{"a semaphore that is left", doubling(doubleLen, 1, 3), ErrSemaphores},
	} {
		got, err := checked(t, context, test.sequence, input)
		if !errors.Is(err, test.err) {
			t.Errorf("%s: %v", test.name, err)
		}
		if test.err == nil && !slices.Equal(got, want) {
			t.Errorf("%s: %v", test.name, got)
		}
	}
	got, err := checked(t, context, doubling(doubleLen-1, 0, 3), input)
	if err != nil || math.Float32bits(got[doubleLen-1]) != Poison {
		t.Errorf("an element that is not written: %v, %v", got[doubleLen-1], err)
	}
}

func checked(t *testing.T, context *glctx.Context, s Sequence, input []float32) (got []float32, err error) {
	t.Helper()
	source := s.Steps[0].Source
	programs, err := cache.New(context, cache.Options{MemoryOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer programs.Close()
	handle, err := programs.Get(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Release()
	err = context.Do(func(gl *glctx.GL) error {
		tensors, err := NewDeviceTensors(gl, Tensors{Input: input, Weights: input}, doubleLen)
		if err != nil {
			return err
		}
		defer tensors.Free(gl)
		run, err := NewRun(gl, s, map[shader.Key]uint32{source.Key(): handle.Program()})
		if err != nil {
			return err
		}
		defer run.Free()
		got, err = run.Checked(tensors)
		return err
	})
	return got, err
}

func TestValidate(t *testing.T) {
	step := func(b ...Binding) Step {
		return Step{Source: shader.MustSource("double", doubleKernel, nil), Bindings: b}
	}
	for want, s := range map[string]Sequence{
		"without steps":                      {},
		"a workspace of 296 bytes":           {Steps: []Step{step(Output.At(0))}, WorkspaceLen: 10},
		"double has its input or output at":  {Steps: []Step{step(Output.At(0)), step(Output.At(1))}},
		"without an output of its own":       {Steps: []Step{step(Input.At(0))}},
		"a sequence without an output of it": {Steps: []Step{step(Input.At(0), Output.At(0))}},
	} {
		if err := s.Validate(295); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	s := Sequence{Prepare: []Step{step(Weights.At(1))}, Steps: []Step{step(Input.At(2), Output.At(3))}}
	if err := s.Validate(256); err != nil {
		t.Error(err)
	}
	if index, ok := s.IndexOf(Output); index != 3 || !ok || s.Uses(Weights) || len(s.All()) != 2 {
		t.Errorf("output at %d, %v; %d steps", index, ok, len(s.All()))
	}
}
