// Package mesa has the rules of Mesa's own cache of machine code: the files that
// running processes share, which file holds which entry, and waiting for its writes.
package mesa

import (
	"path"
	"regexp"
)

// Folder is the folder of Mesa's cache below the driver's folder of a cache directory.
const Folder = "mesa"

// itemsFolder is the folder in which Mesa keeps a file for each entry. An entry's name is
// the SHA-1 of what it was made from: two digits for its folder, and 38 for the file.
const itemsFolder = "mesa_shader_cache"

var (
	entryFolder = regexp.MustCompile(`^[0-9a-f]{2}$`)
	entryFile   = regexp.MustCompile(`^[0-9a-f]{38}$`)
)

// InUse reports whether running processes map or update the file of Mesa's cache with
// this name, so that it must not be deleted: the index, and the marker, whose time is
// that of the last use of the directory.
func InUse(name string) bool { return name == "index" || name == "marker" }

// Entry returns the name of the entry that a file holds: 40 hexadecimal digits. The path
// is below the driver's folder, with slashes. It returns "" for other files, among them
// Mesa's databases, which hold many entries each.
func Entry(file string) string {
	above, name := path.Split(file)
	folder := path.Base(above)
	if path.Dir(path.Dir(file)) != path.Join(Folder, itemsFolder) || !entryFolder.MatchString(folder) || !entryFile.MatchString(name) {
		return ""
	}
	return folder + name
}
