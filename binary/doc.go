// Package binary stores compiled GL programs on disk. A [Dir] is a cache directory, a
// [Store] the part of it that belongs to one driver, named by the driver's
// [Fingerprint], and a [Blob] one program binary, named by the key of its source.
//
// A blob is checked in blob.go (its header and checksum), files.go (its key and driver) and
// store.go; trust.go has who could change it. Beside blobs a directory keeps the sources,
// verdicts, crash marks and uses of programs: records.go and record.go have how.
//
// The package makes no GL calls and needs no cgo. Its methods may be called from any
// goroutine. Packages cache and glctx share its types, so that neither imports the
// other.
package binary
