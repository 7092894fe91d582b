// Package osfile holds the file operations that differ between operating systems, or
// that more than one package needs: writing whole files, locks, files without a name,
// owners and access times.
package osfile
