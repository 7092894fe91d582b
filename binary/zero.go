package binary

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// zeroName is the file with the counters at the last [Dir.Zero], which Lifetime
// subtracts. The counters themselves stay: the indexes, which hold them, may be in use.
const zeroName = "stats_zero.json"

var zeros = whole[zeroFile]{name: zeroName, limit: maxStatsBytes}

type zeroFile struct {
	Time         time.Time           `json:"time"`
	Fingerprints map[string]Counters `json:"fingerprints"` // by directory name
}

// Zero makes the figures of [Dir.Lifetime], [Dir.Starts] and [Dir.Recompiled] begin
// again now. Processes that run record what they have not recorded yet afterwards.
func (d *Dir) Zero() error {
	all, err := d.counters()
	if err != nil {
		return err
	}
	err = zeros.write(d.path, zeroFile{d.now().UTC(), all})
	if err == nil {
		err = os.Remove(filepath.Join(d.path, compiledName))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("binary: zero: %w", err)
	}
	return nil
}

// ZeroTime returns the time of the last [Dir.Zero], and the zero time without one.
func (d *Dir) ZeroTime() time.Time { return d.readZero().Time }

func (d *Dir) readZero() zeroFile {
	file, _ := zeros.read(d.path)
	return file
}
