// Package shader describes compute programs: the [Source], the [Key] that
// identifies it, and, once a device has linked it, the [Program] and its
// [Interface]. It also declares the errors of a device, because package cache and
// its devices use them and do not import each other.
//
// The package is pure Go and makes no OpenGL calls. Its values may be used from any
// goroutine, except for a [Scanner].
package shader
