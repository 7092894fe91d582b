//go:build !unix

package osfile

import "io/fs"

// Owner returns false: it is not known on this system.
func Owner(fs.FileInfo) (uid int, ok bool) { return 0, false }

// WritableByOthers returns false: the mode bits that Go reports on this system do not
// tell who may write. The user's cache directory is private by default.
func WritableByOthers(fs.FileInfo) bool { return false }

// OthersCanChange returns false.
func OthersCanChange(fs.FileInfo) bool { return false }

// Replaceable returns "".
func Replaceable(string) (reason, remedy string) { return "", "" }
