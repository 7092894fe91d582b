//go:build linux

package conv2d

import (
	"fmt"
	"math"

	"github.com/shadercache/shadercache/glctx"
)

// canaryWords is how many poisoned words follow an output, so that a kernel that
// writes past its end is found out.
const canaryWords = 64

// tensors makes buffers and frees them together. After the first error it makes
// no more.
type tensors struct {
	gl   *glctx.GL
	made []glctx.Buffer
	err  error
}

// upload makes a buffer that holds values.
func (t *tensors) upload(values []float32) glctx.Buffer {
	return t.buffer(4*len(values), glctx.Bytes(values))
}

// poisoned makes a buffer for n floats and the canary, all of them Poison.
func (t *tensors) poisoned(n int) glctx.Buffer {
	b := t.buffer(4*(n+canaryWords), nil)
	if t.err == nil {
		t.gl.Fill(b, Poison)
	}
	return b
}

// zeros makes a buffer for n words that are 0, and the canary.
func (t *tensors) zeros(n int) glctx.Buffer {
	words := make([]uint32, n+canaryWords)
	for i := range canaryWords {
		words[n+i] = Poison
	}
	return t.buffer(4*len(words), glctx.Bytes(words))
}

func (t *tensors) buffer(size int, data []byte) glctx.Buffer {
	if t.err != nil {
		return glctx.Buffer{}
	}
	b, err := t.gl.NewBuffer(size, data)
	if err != nil {
		t.err = err
		return glctx.Buffer{}
	}
	t.made = append(t.made, b)
	return b
}

// download reads the n floats of a poisoned buffer and checks its canary.
func (t *tensors) download(b glctx.Buffer, n int) ([]float32, error) {
	t.gl.MemoryBarrier(glctx.BarrierUpdate)
	values := make([]float32, n+canaryWords)
	t.gl.Download(b, 0, glctx.Bytes(values))
	if err := t.gl.Err(); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	for _, v := range values[n:] {
		if math.Float32bits(v) != Poison {
			return nil, errOverrun
		}
	}
	return values[:n:n], nil
}

// free deletes every buffer.
func (t *tensors) free() {
	for _, b := range t.made {
		t.gl.DeleteBuffer(b)
	}
}
