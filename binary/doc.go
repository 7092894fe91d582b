// Package binary says what a compiled GL program is called and where it is
// kept: the [Fingerprint] of a driver, the [Source] of a program and its
// [Key], the [Blob] that holds one program binary, and the [Dir] and [Store]
// that keep blobs on disk.
//
// The package is pure Go, knows nothing of OpenGL calls and may be used from
// any goroutine. Packages cache and glctx share its types, so that neither has
// to import the other.
package binary
