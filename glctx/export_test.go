//go:build linux && cgo

package glctx

// These are exported to package glctx_test.
var (
	OwnContext   = ownContext
	OwnContextOf = ownContextOf
)

// LimitCompilerThreads exports limitCompilerThreads.
func (gl *GL) LimitCompilerThreads(n uint32) { gl.limitCompilerThreads(n) }

// TimeSoftware returns options of a context that measures on software drivers too.
func TimeSoftware(o Options) Options {
	o.timeSoftware = true
	return o
}
