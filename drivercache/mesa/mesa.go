// Package mesa has the rules of Mesa's own cache of machine code: the files that
// running processes share, which file holds which entry, and waiting for its writes.
package mesa

import (
	"bytes"
	"encoding/binary"
	"path"
	"path/filepath"
	"regexp"

	"github.com/shadercache/shadercache/internal/osfile"
)

// Folder is the folder of Mesa's cache below the driver's folder of a cache directory.
const Folder = "mesa"

// Index is the name of the file in each of Mesa's folders that running processes map.
const Index = "index"

// ItemsFolder is the folder in which Mesa keeps a file for each entry. An entry's name is
// the SHA-1 of what it was made from: two digits for its folder, and 38 for the file.
const ItemsFolder = "mesa_shader_cache"

var (
	entryFolder = regexp.MustCompile(`^[0-9a-f]{2}$`)
	entryFile   = regexp.MustCompile(`^[0-9a-f]{38}$`)
)

// InUse reports whether running processes map or update the file of Mesa's cache with
// this name, so that it must not be deleted: the index, and the marker, whose time is
// that of the last use of the directory.
func InUse(name string) bool { return name == Index || name == "marker" }

// IsEntryFolder reports whether a folder in ItemsFolder with this name is one of entries.
func IsEntryFolder(name string) bool { return entryFolder.MatchString(name) }

// IsEntryFile reports whether a file in such a folder with this name holds an entry.
func IsEntryFile(name string) bool { return entryFile.MatchString(name) }

// CountEntries returns the number of files with an entry below a folder, which may have
// more than one cache of Mesa's.
func CountEntries(folder string) (n int) {
	for path := range osfile.Files(folder) {
		if IsEntryFile(filepath.Base(path)) {
			n++
		}
	}
	return n
}

// Entry returns the name of the entry that a file holds: 40 hexadecimal digits. The path
// is below the driver's folder, with slashes. It returns "" for other files, among them
// Mesa's databases, which hold many entries each.
func Entry(file string) string {
	above, name := path.Split(file)
	folder := path.Base(above)
	if path.Dir(path.Dir(file)) != path.Join(Folder, ItemsFolder) || !entryFolder.MatchString(folder) || !entryFile.MatchString(name) {
		return ""
	}
	return folder + name
}

// IsLost reports whether the file of an entry has no byte of what Mesa wrote, as after a power cut:
// Mesa compiles at each start then, and never writes over the file.
func IsLost(data []byte) bool { return len(bytes.Trim(data, "\x00")) == 0 }

// maxItemHeader is more than the header of a file has before its type.
const maxItemHeader = 512

// linkResult reports whether a file begins like the result of linking a program. The
// header, as seen with Mesa 22.3, in the byte order of the machine:
//
//	1 byte    version, 1
//	strings   identity of the driver, name of the GPU, each with a zero after it
//	1 byte    size of a pointer
//	8 bytes   flags of the driver
//	          zeros up to a multiple of 4
//	4 bytes   type: 1 for the result of linking a program, 0 for other entries
func linkResult(head []byte) bool {
	if len(head) == 0 || head[0] != 1 {
		return false
	}
	end := 1
	for range 2 {
		n := bytes.IndexByte(head[end:], 0)
		if n < 0 {
			return false
		}
		end += n + 1
	}
	end = (end + 1 + 8 + 3) &^ 3
	return len(head) >= end+4 && binary.NativeEndian.Uint32(head[end:]) == 1
}
