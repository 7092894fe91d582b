package drivercache

import (
	"encoding/binary"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/internal/osfile"
)

// Recount sets the bytes that Mesa's index has for its files to what is there. Mesa adds what it
// writes, and takes away only what it deletes itself: after other deletions it would at last delete
// a file for each one that it writes. What a process writes meanwhile may be counted or not. An
// index that cannot be written stays as it is.
func Recount(dir string) {
	folder := filepath.Join(dir, mesa.Folder, mesa.ItemsFolder)
	index := filepath.Join(folder, mesa.Index)
	var bytes uint64
	if info, err := os.Lstat(index); err != nil || !info.Mode().IsRegular() || info.Size() < 8 {
		return // nothing counts
	}
	for path, info := range osfile.Files(folder) {
		if mesa.IsEntryFile(filepath.Base(path)) {
			bytes += uint64(info.Size()+4095) &^ 4095 // what most volumes take for it
		}
	}
	if f, err := os.OpenFile(index, os.O_WRONLY, 0); err == nil {
		_, _ = f.WriteAt(binary.NativeEndian.AppendUint64(nil, bytes), 0)
		f.Close()
	}
}
