package drivercache

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache/mesa"
)

// Recount sets the bytes that Mesa's index has for its files to what is there. Mesa adds what it
// writes, and takes away only what it deletes itself: after other deletions it would at last delete
// a file for each one that it writes. What a process writes meanwhile may be counted or not.
func Recount(dir string) error {
	folder := filepath.Join(dir, mesa.Folder, mesa.ItemsFolder)
	index := filepath.Join(folder, mesa.Index)
	var bytes uint64
	if info, err := os.Lstat(index); err != nil || !info.Mode().IsRegular() || info.Size() < 8 {
		return nil // nothing counts
	}
	walk(folder, func(path string, info fs.FileInfo) {
		if mesa.IsEntryFile(filepath.Base(path)) {
			bytes += uint64(info.Size()+4095) &^ 4095 // what most volumes take for it
		}
	})
	f, err := os.OpenFile(index, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, bytes), 0)
	return errors.Join(err, f.Close())
}
