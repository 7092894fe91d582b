// Package mesa has the rules of Mesa's own cache of machine code: the files that
// running processes share, and waiting for its writes.
package mesa

// InUse reports whether running processes map or update the file of Mesa's cache with
// this name, so that it must not be deleted: the index, and the marker, whose time is
// that of the last use of the directory.
func InUse(name string) bool { return name == "index" || name == "marker" }
