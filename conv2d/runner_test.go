//go:build linux

package conv2d

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
)

func TestRunnerRefusesBadInput(t *testing.T) {
	r := newRunner(t)
	buffers := r.Context.Counters().Buffers
	good := Problem{N: 1, C: 1, H: 3, W: 3, K: 1, R: 3, S: 3}
	limit := int(r.Context.Info().MaxGroups[1])
	tall := Problem{N: 1, C: 1, H: 1, W: 1, K: limit + 1, R: 1, S: 1}
	nine := make([]float32, 9)
	tests := []struct {
		want                 string
		problem              Problem
		input, weights, bias []float32
	}{
		{"K is 0", Problem{}, nil, nil, nil},
		{"input has 8 elements, the problem needs 9", good, nine[:8], nine, nil},
		{"weights has 0 elements", good, nine, nil, nil},
		{"bias has 2 elements", good, nine, nine, nine[:2]},
		{fmt.Sprintf("needs %d work groups along y, this device allows %d", limit+1, limit),
			tall, nine[:1], make([]float32, limit+1), nil},
	}
	for _, test := range tests {
		before := r.Context.Counters().Dispatches
		output, _, err := r.Conv2D(t.Context(), test.problem, test.input, test.weights, test.bias)
		if err == nil || !strings.Contains(err.Error(), test.want) || output != nil {
			t.Errorf("error %v does not say %q", err, test.want)
		}
		if n := r.Context.Counters().Dispatches - before; n != 0 {
			t.Errorf("%q: %d dispatches", test.want, n)
		}
	}
	if _, _, err := r.GEMM(t.Context(), plain(1, 1, 1), Variant{}, nine[:1], nine[:1]); err == nil {
		t.Error("no error for the zero variant")
	}
	if _, _, err := r.GEMM(t.Context(), plain(3, 3, 3), Variant{Tile: Tile32}, nine, nine[:1]); err == nil {
		t.Error("no error for a short B")
	}
	if n := r.Context.Counters().Buffers - buffers; n != 0 {
		t.Errorf("%d buffers were left", n)
	}
}

func TestRunnerRefusesTensorsPastTheStorageLimit(t *testing.T) {
	j := job{source: source3x3(), inputs: [][]float32{make([]float32, 300)}, outputs: 1}
	err := j.checkStorage(1000)
	if err == nil || !strings.Contains(err.Error(), "1200 bytes, this device allows 1000") {
		t.Errorf("error is %v", err)
	}
	if err := j.checkStorage(1200); err != nil {
		t.Error(err)
	}
}

func TestRunnerStopsWhenTheContextEnds(t *testing.T) {
	r := newRunner(t)
	p := Problem{N: 1, C: 8192, H: 3, W: 3, K: 1, R: 3, S: 3}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before := r.Context.Counters()
	stop := &stoppingPrograms{Programs: r.Cache, stop: cancel}
	_, _, err := (&Runner{Context: r.Context, Cache: stop}).Conv2D(ctx, p, filled(p.InputLen(), 1), filled(p.WeightsLen(), 1), nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	after := r.Context.Counters()
	if after.Buffers != before.Buffers || after.Dispatches != before.Dispatches {
		t.Errorf("counters before %+v, after %+v", before, after)
	}
}

// stoppingPrograms calls stop once a program was given out.
type stoppingPrograms struct {
	Programs
	stop func()
}

func (p *stoppingPrograms) Get(ctx context.Context, source *binary.Source) (*cache.Handle, error) {
	defer p.stop()
	return p.Programs.Get(ctx, source)
}

// overrun writes one element more than it should.
const overrun = `
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Output { float outputs[]; };
void main() {
    for (int i = 0; i < 9; ++i) {
        outputs[i] = 1.0;
    }
}
`

func TestRunnerFindsOverruns(t *testing.T) {
	r := newRunner(t)
	for outputs, want := range map[int]error{8: errOverrun, 9: nil} {
		_, _, err := r.run(t.Context(), job{
			source:  binary.MustSource("overrun", overrun, nil),
			outputs: outputs,
			dispatch: func(gl *glctx.GL, program uint32, _ []glctx.Buffer, out glctx.Buffer) (int, error) {
				gl.UseProgram(program)
				gl.BindStorage(0, out)
				gl.Dispatch(1, 1, 1)
				return 1, nil
			},
		})
		if !errors.Is(err, want) {
			t.Errorf("%d outputs: error %v, want %v", outputs, err, want)
		}
	}
}

func TestRunnerPassesOnCompileErrors(t *testing.T) {
	r := newRunner(t)
	_, _, err := r.run(t.Context(), job{source: binary.MustSource("broken", "void main() { nonsense }", nil), outputs: 1})
	var compile *binary.CompileError
	if !errors.As(err, &compile) {
		t.Errorf("error is %v, want a compile error", err)
	}
}
