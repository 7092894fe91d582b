// Package gl45 has the calls of OpenGL 4.5 that package glctx makes, so that glctx can be
// compiled without cgo and for every system. With cgo on Linux they are those of go-gl.
// Otherwise there is no context, and no call is made. A call that is added to calls_cgo.go is
// added to calls_stub.go too.
package gl45
