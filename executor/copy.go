//go:build linux

package executor

import (
	_ "embed"
	"sync"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

//go:embed kernels/copy.comp
var copyText string

var copySource = sync.OnceValue(func() *shader.Source { return shader.MustSource("executor_copy", copyText, nil) })

const (
	wordBytes  = 16 // one uvec4
	copyGroups = 16 // of 512 invocations: 8 to 32 do equally well on an H200
)

// copier copies by a kernel.
type copier struct {
	program uint32
	count   int32 // location of the uniform
}

// copyRange starts a copy of the bytes from at up to to, both multiples of
// wordBytes, between two buffers with the same layout. It does not order itself
// against anything.
func (r *recorder) copyRange(gl *glctx.GL, from, to glctx.Buffer, at, end int) {
	if at == end {
		return
	}
	r.use(gl, r.copier.program)
	r.bindStorage(gl, 0, from, at, end-at)
	r.bindStorage(gl, 1, to, at, end-at)
	gl.SetUint(r.copier.count, uint32((end-at)/wordBytes))
	gl.Dispatch(copyGroups, 1, 1)
}
