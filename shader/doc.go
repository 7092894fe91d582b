// Package shader says what a compute program is: its [Source], the [Key] that
// identifies it, and, once a device has linked it, the [Program] and its
// [Interface]. It also holds the errors of a device, since package cache and the
// devices below it need them and neither imports the other.
//
// The package is pure Go and knows nothing of OpenGL calls. Its values may be
// used from any goroutine.
package shader
