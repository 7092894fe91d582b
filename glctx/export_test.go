//go:build linux

package glctx

// OwnContext and OwnContextOf export ownContext and ownContextOf to package glctx_test.
var (
	OwnContext   = ownContext
	OwnContextOf = ownContextOf
)
