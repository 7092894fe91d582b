//go:build !unix

package binary

import "io/fs"

// checkOwner accepts every directory: the mode bits that Go reports here say
// nothing about who may write. The user's cache directory is private by
// default.
func checkOwner(string, fs.FileInfo, bool) error { return nil }
