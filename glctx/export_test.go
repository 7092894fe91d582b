//go:build linux

package glctx

// OwnContext exports ownContext to package glctx_test.
var OwnContext = ownContext
