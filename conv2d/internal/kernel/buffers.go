//go:build linux

package kernel

import (
	"fmt"
	"math"

	"github.com/shadercache/shadercache/glctx"
)

// CanaryWords is the number of poisoned words behind an output, which show that a
// kernel writes past its end.
const CanaryWords = 64

// buffers makes buffers and deletes them together. After the first error it makes
// no more.
type buffers struct {
	gl   *glctx.GL
	made []glctx.Buffer
	err  error
}

// upload makes a buffer that holds values.
func (b *buffers) upload(values []float32) glctx.Buffer {
	return b.add(4*len(values), glctx.Bytes(values))
}

// poisoned makes a buffer for n floats and the canary, all of them Poison.
func (b *buffers) poisoned(n int) glctx.Buffer {
	made := b.add(4*(n+CanaryWords), nil)
	if b.err == nil {
		b.gl.Fill(made, Poison)
	}
	return made
}

// add makes a buffer of size bytes that holds data.
func (b *buffers) add(size int, data []byte) glctx.Buffer {
	if b.err != nil {
		return glctx.Buffer{}
	}
	made, err := b.gl.NewBuffer(size, data)
	if err != nil {
		b.err = err
		return glctx.Buffer{}
	}
	b.made = append(b.made, made)
	return made
}

// free deletes every buffer.
func (b *buffers) free(gl *glctx.GL) {
	for _, made := range b.made {
		gl.DeleteBuffer(made)
	}
}

// download reads the last n floats of a poisoned buffer, from at on, and checks its canary.
func download(gl *glctx.GL, b glctx.Buffer, at, n int) ([]float32, error) {
	gl.MemoryBarrier(glctx.BarrierUpdate)
	values := make([]float32, n+CanaryWords)
	gl.Download(b, 4*at, glctx.Bytes(values))
	if err := gl.Err(); err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	for _, v := range values[n:] {
		if math.Float32bits(v) != Poison {
			return nil, ErrOverrun
		}
	}
	return values[:n:n], nil
}
