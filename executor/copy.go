package executor

import (
	"context"
	_ "embed"
	"sync"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/copy.comp
var copyText string

var copySource = sync.OnceValue(func() *shader.Source { return shader.MustSource("executor_copy", copyText, nil) })

const (
	wordBytes  = 16  // one uvec4
	copyGroups = 16  // 8 to 32 measured the same on an H200
	copyLocal  = 512 // invocations of a group, LOCAL of copy.comp
)

// copier is the copying kernel.
type copier struct {
	program uint32
	count   int32 // location of the uniform
}

// loadCopier gets the copying kernel, beside the first large job: others start sooner
// without it. Until it is there batches run as a whole.
func (e *Executor) loadCopier() {
	h, err := e.programs.Get(context.Background(), copySource().WithCheck(checkCopy(e.context)))
	if err != nil {
		return
	}
	err = e.context.Do(func(gl *glctx.GL) error {
		if e.pipeline.freed {
			return errClosed
		}
		c := &e.pipeline.recorder.copier
		c.program, c.count = h.Program(), gl.UniformLocation(h.Program(), "count")
		return gl.Err()
	})
	if err != nil {
		h.Release()
		return
	}
	e.copier = h
	e.hasCopier.Store(true)
}

// copyRange copies n bytes at offset, both multiples of wordBytes, between two
// buffers with the same layout. It inserts no barrier.
func (r *recorder) copyRange(gl *glctx.GL, from, to glctx.Buffer, offset, n int) {
	if n == 0 {
		return
	}
	r.useProgram(gl, r.copier.program)
	r.bindStorage(gl, 0, from, span{offset, n})
	r.bindStorage(gl, 1, to, span{offset, n})
	gl.SetUint(r.copier.count, uint32(n/wordBytes))
	gl.Dispatch(copyGroups, 1, 1)
}
