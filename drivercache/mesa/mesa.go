// Package mesa knows what is particular to Mesa's own cache of machine code: which of
// its files running processes share, and when it has written what it compiled.
package mesa

// InUse reports whether a file of Mesa's cache with this name is mapped or touched by
// running processes, so that it must not be deleted: the index, and the marker that
// dates the directory.
func InUse(name string) bool { return name == "index" || name == "marker" }
