package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/internal/cli"
)

// lowBytes and lowFiles are what a volume should have left: one warm workload
// of a few hundred programs, both layers together.
const (
	lowBytes = 64 << 20
	lowFiles = 4096
)

// networkVolumes are kinds of file system, as statfs names them, on which locks
// and renames may not be what they are on a disk.
var networkVolumes = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFE534D42: "SMB",
	0xFF534D42: "CIFS",
	0x5346414F: "AFS",
	0x00C36400: "Ceph",
}

// examineVolume looks at what the directory stands on, as statfs tells it. It
// reports whether it found something.
func (r *doctorResult) examineVolume(statfs func(string, *unix.Statfs_t) error, path, elsewhere string) bool {
	const check = "directory"
	before := len(r.Findings)
	var volume unix.Statfs_t
	if err := statfs(path, &volume); err != nil {
		r.wrong(check, elsewhere, "%s: %v", path, err)
		return true
	}
	if kind := networkVolumes[uint32(volume.Type)]; kind != "" {
		r.wrong(check, elsewhere, "%s is on %s: slow, and locks there may not hold", path, kind)
	}
	switch {
	case volume.Flags&unix.ST_RDONLY != 0:
		r.wrong(check, fmt.Sprintf("export SHADERCACHE_UPSTREAM=%s %s", quoted(path), strings.TrimPrefix(elsewhere, "export ")),
			"%s is on a volume that is mounted read-only", path)
	case unix.Access(path, unix.W_OK) != nil || !ownerMayWrite(path):
		r.wrong(check, "chmod 700 "+quoted(path), "%s cannot be written: nothing new is kept", path)
	}
	if free := int64(volume.Bavail) * volume.Bsize; free < lowBytes {
		r.wrong(check, "shadercache prune --max-bytes 100M", "%s has %s left on its volume", path, cli.ReadableBytes(free))
	} else if volume.Files > 0 && volume.Ffree < lowFiles {
		r.wrong(check, "shadercache prune --max-age 7d", "%s has room for %s on its volume", path, cli.Plural(volume.Ffree, "file"))
	}
	return len(r.Findings) > before
}

// ownerMayWrite looks at the mode, which does not bind root.
func ownerMayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o200 != 0
}

// anywhere is a directory of the user's where there is no home.
const anywhere = `export SHADERCACHE_DIR=/var/tmp/shadercache-$(id -u)`

// mendElsewhere names another directory than path, which cannot be used.
func mendElsewhere(path string) string {
	home, err := os.UserHomeDir()
	if err == nil {
		_, err = os.Stat(home)
	}
	if err != nil || path == filepath.Join(home, ".cache", "shadercache") {
		return anywhere
	}
	return `export SHADERCACHE_DIR="$HOME/.cache/shadercache"`
}

// mendUnsafe is chmod where the mode is what is unsafe, rm of a link in the
// directory, else another directory.
func mendUnsafe(path, elsewhere string) string {
	for _, name := range []string{"driver", "sources"} {
		link := filepath.Join(path, name)
		if info, err := os.Lstat(link); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return "rm " + quoted(link)
		}
	}
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() && info.Mode().Perm()&0o022 != 0 {
		return "chmod 700 " + quoted(path)
	}
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Sprintf("export SHADERCACHE_DIR=\"$(readlink -f %s)\"", quoted(path))
	}
	return elsewhere
}

// quoted is a path as a shell reads it.
func quoted(path string) string {
	if !strings.ContainsAny(path, " '\"$`\\*?[]()&;<>|~#!\t\n") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
