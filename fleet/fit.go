package fleet

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/drivercache/nvidia"
	"github.com/shadercache/shadercache/internal/osfile"
)

// sizeSlack is what packs may have above the limit of their unpacked bytes.
const sizeSlack = 64 << 20

// takes is what a pack takes of a volume while it is installed: its files in whole pages, of which a
// program has a source too, and what is kept of its transfer.
func (p *Pack) takes() int64 {
	const page = 4096
	return p.Unpacked + page*int64(2*p.Programs+p.DriverFiles) + min(p.Size, maxPartBytes)
}

// errSpace is the error for packs that a volume has no space for: no fault of the remote.
var errSpace = errors.New("there is too little free space, of which a pull takes half")

// fit returns the packs that have room once they are unpacked, with their bytes, and on a volume with so
// many free bytes, and an error where there are others.
func (o Options) fit(packs []Pack, room, free int64) (fits []Pack, total int64, err error) {
	most, free, tight := room+sizeSlack, free/2, 0
	for _, p := range packs {
		switch {
		case p.Unpacked > room || total+p.Size > most:
		case p.takes() > free:
			tight++
		default:
			fits, total, room, free = append(fits, p), total+p.Size, room-p.Unpacked, free-p.takes()
		}
	}
	switch left := len(packs) - len(fits); {
	case left > tight:
		err = fmt.Errorf("%d of %d packs have, or unpack to, more bytes than the limit is: %d for one pull; the next one has it for the others, or more by --max-bytes", left, len(packs), o.MaxBytes)
	case tight > 0:
		err = fmt.Errorf("%d of %d packs are left out: %w", tight, len(packs), errSpace)
	}
	return fits, total, err
}

// free is the space for packs of a head: what is free, and what is kept of them already, less what a merge
// of NVIDIA's slots copies.
func (r *Remote) free(h *Head, packs []Pack) int64 {
	free, known := osfile.FreeBytes(r.dir.Path())
	if !known {
		return math.MaxInt64
	}
	for _, p := range packs {
		if info, err := os.Lstat(r.state.partPath(h.Fingerprint, p)); err == nil {
			free += info.Size()
		}
	}
	if drivercache.FolderOf(h.Driver.Vendor, h.Driver.Version) == nvidia.Folder {
		free -= mergedBytes(r.dir.DriverDir())
	}
	return free
}

// mergedBytes is the most that a merge of slots copies: those of one folder, but for those of processes,
// which are copies themselves.
func mergedBytes(driverDir string) (most int64) {
	merged := map[string]int64{} // by folder
	for _, path := range nvidia.SlotFiles(driverDir) {
		folder, name := filepath.Split(path)
		slot := 0
		_, _ = fmt.Sscanf(name, nvidia.App+"%d.", &slot)
		if info, err := os.Lstat(path); err == nil && nvidia.ProcessOf(slot) == 0 {
			merged[folder] += info.Size()
			most = max(most, merged[folder])
		}
	}
	return most
}
