// Package mesa has the rules of Mesa's own cache of machine code: the files that
// running processes share, which file holds which entry, and waiting for its writes.
package mesa

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
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
	_ = filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() && IsEntryFile(e.Name()) {
			n++
		}
		return nil
	})
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

// maxItemHeader is more than the header of a file has before its type.
const maxItemHeader = 512

// The types of entries.
const linkResult = 1 // of linking a program; 0 for others

// parse returns the type of the entry that a file begins with, and what follows. The header, as
// seen with Mesa 22.3 and 25, in the byte order of the machine:
//
//	1 byte    version, 1
//	strings   identity of the driver, name of the GPU, each with a zero after it
//	1 byte    size of a pointer
//	8 bytes   flags of the driver
//	          zeros up to a multiple of 4
//	4 bytes   type
//
// A result of linking has the number of keys and the keys, of 20 bytes, then. All have a CRC-32 of
// what is compressed, the size of the content, and that.
func parse(data []byte) (kind uint32, rest []byte, ok bool) {
	if len(data) == 0 || data[0] != 1 {
		return 0, nil, false
	}
	end := 1
	for range 2 {
		n := bytes.IndexByte(data[end:], 0)
		if n < 0 {
			return 0, nil, false
		}
		end += n + 1
	}
	if end = (end + 1 + 8 + 3) &^ 3; len(data) < end+4 {
		return 0, nil, false
	}
	return binary.NativeEndian.Uint32(data[end:]), data[end+4:], true
}

// IsDamaged reports whether the content of a file of an entry is not what Mesa wrote, as after a
// power cut: Mesa compiles at each start then, and never writes over the file. Files of an unknown
// version count as good.
func IsDamaged(data []byte) bool {
	if len(data) > 0 && data[0] > 1 {
		return false
	}
	kind, rest, ok := parse(data)
	if ok && kind == linkResult && len(rest) >= 4 {
		rest = rest[min(4+20*int64(binary.NativeEndian.Uint32(rest)), int64(len(rest))):]
	}
	return !ok || len(rest) < 8 || ^crc32.ChecksumIEEE(rest[8:]) != binary.NativeEndian.Uint32(rest)
}
