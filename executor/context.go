//go:build linux

package executor

import "github.com/shadercache/shadercache/glctx"

// Context is the GL context that the executor runs on, for those who ask what it
// can do.
func (e *Executor) Context() *glctx.Context { return e.context }
