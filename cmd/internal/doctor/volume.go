package doctor

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/cmd/cli"
)

// lowBytes and lowFiles are the least free space of a volume: for one warm workload of a
// few hundred programs, both layers together.
const (
	lowBytes = 64 << 20
	lowFiles = 4096
)

// networkVolumes are the types of statfs for file systems whose locks and renames may
// differ from those of a disk.
var networkVolumes = map[uint32]string{
	0x6969:     "NFS",
	0x517B:     "SMB",
	0xFE534D42: "SMB",
	0xFF534D42: "CIFS",
	0x5346414F: "AFS",
	0x00C36400: "Ceph",
}

// examineVolume checks the volume of the directory, as statfs describes it. It reports
// whether it found something.
func (r *Report) examineVolume(statfs func(string, *unix.Statfs_t) error, path, elsewhere string) bool {
	before := len(r.Findings)
	var volume unix.Statfs_t
	if err := statfs(path, &volume); err != nil {
		r.wrong(directoryCheck, elsewhere, "%s: %v", path, err)
		return true
	}
	if kind := networkVolumes[uint32(volume.Type)]; kind != "" {
		r.wrong(directoryCheck, elsewhere, "%s is on %s: slow, and locks may not work", path, kind)
	}
	switch {
	case volume.Flags&unix.ST_RDONLY != 0:
		r.wrong(directoryCheck, fmt.Sprintf("export SHADERCACHE_UPSTREAM=%s %s", quoted(path), strings.TrimPrefix(elsewhere, "export ")),
			"%s is on a volume that is mounted read-only", path)
	case unix.Access(path, unix.W_OK) != nil || !ownerMayWrite(path):
		r.wrong(directoryCheck, "chmod 700 "+quoted(path), "%s cannot be written: nothing new is stored", path)
	}
	if free := int64(volume.Bavail) * volume.Bsize; free < lowBytes {
		r.wrong(directoryCheck, "shadercache prune --max-bytes 100M", "%s has %s left on its volume", path, cli.ReadableBytes(free))
	} else if volume.Files > 0 && volume.Ffree < lowFiles {
		r.wrong(directoryCheck, "shadercache prune --max-age 7d", "%s has room for %s on its volume", path, cli.Plural(volume.Ffree, "file"))
	}
	return len(r.Findings) > before
}

// ownerMayWrite reads the mode, which access(2) ignores for root.
func ownerMayWrite(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o200 != 0
}

// anyDirectory chooses a directory for a user without a home.
const anyDirectory = `export SHADERCACHE_DIR=/var/tmp/shadercache-$(id -u)`

// otherDirectory returns the command that chooses another directory than path.
func otherDirectory(path string) string {
	home, err := os.UserHomeDir()
	if err == nil {
		_, err = os.Stat(home)
	}
	if err != nil || path == filepath.Join(home, ".cache", "shadercache") {
		return anyDirectory
	}
	return `export SHADERCACHE_DIR="$HOME/.cache/shadercache"`
}

// fixUnsafe returns chmod where the mode is unsafe, rm for a symbolic link in the
// directory, else elsewhere.
func fixUnsafe(path, elsewhere string) string {
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

// quoted quotes a path for a shell.
func quoted(path string) string {
	if !strings.ContainsAny(path, " '\"$`\\*?[]()&;<>|~#!\t\n") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
