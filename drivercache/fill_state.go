package drivercache

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/drivercache/mesa"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// maxFilled is the number of directories that are recorded: a line with the folder and the
// state of each, the latest last.
const maxFilled = 32

// maxFilledBytes is more than their lines have.
const maxFilledBytes = 8 << 10

// fillState returns a digest of what a folder of a driver's cache holds, without reading
// it, and false where there is nothing to copy. It covers names, sizes and times: of
// folders where the driver keeps a file for each entry, since a file never changes
// there, and of files where it appends to them. Times of changes are those of the
// system, so that a tool which sets the others does not hide one.
func fillState(folder string) (id string, found bool) {
	sum := sha256.New()
	add := func(path string) {
		info, err := os.Lstat(path)
		if err == nil {
			found = true
			fmt.Fprintln(sum, strings.TrimPrefix(path, folder), info.Mode(), info.Size(), info.ModTime().UnixNano(), osfile.FileID(info))
		}
	}
	switch filepath.Base(folder) {
	case mesa.Folder:
		items := filepath.Join(folder, mesa.ItemsFolder)
		for _, e := range osfile.List(items) {
			if mesa.IsEntryFolder(e.Name()) {
				add(filepath.Join(items, e.Name()))
			}
		}
	case nvidia.Folder:
		for _, path := range nvidia.SlotFiles(filepath.Dir(folder)) {
			add(path)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), found
}

// isFilled reports whether a folder was copied in this state, and that something is left:
// a user may delete any part of a cache.
func isFilled(dir, folder, id string) bool {
	filled, _ := osfile.ReadLines(dir+filledExt, maxFilledBytes)
	return slices.Contains(filled, folder+" "+id) && hasEntries(dir, folder)
}

// hasEntries reports whether there is a file for the driver of a folder.
func hasEntries(dir, folder string) bool {
	if folder == nvidia.Folder {
		return len(nvidia.SlotFiles(dir)) > 0
	}
	items := filepath.Join(dir, folder, mesa.ItemsFolder)
	return slices.ContainsFunc(osfile.List(items), func(shard fs.DirEntry) bool {
		return shard.IsDir() && len(osfile.List(filepath.Join(items, shard.Name()))) > 0
	})
}

// addFilled records that a folder was copied. The caller holds the lock.
func addFilled(dir, folder, id string) error {
	lines, _ := osfile.ReadLines(dir+filledExt, maxFilledBytes)
	lines = lastOfEach(append(lines, folder+" "+id))
	return writeLines(dir+filledExt, lines[max(0, len(lines)-maxFilled):])
}
