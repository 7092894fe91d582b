package binary

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
)

// trimInterval is how often Trim does something: looking at everything takes
// seconds where there is much.
const trimInterval = 24 * time.Hour

// Trim prunes the cache directory, of every driver, unless that was done within
// the last day; then it does nothing and reports false. The time of the last
// trim is in last_trim; one in the future counts for nothing.
func (d *Dir) Trim(o PruneOptions) (PruneReport, bool, error) {
	if o.Now.IsZero() {
		o.Now = d.now()
	}
	stamp := filepath.Join(d.path, lastTrimName)
	data, _, _ := readRegular(stamp, 64)
	last, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(string(data)))
	if age := o.Now.Sub(last); err == nil && age >= 0 && age < trimInterval {
		return PruneReport{}, false, nil
	}
	if d.readOnly {
		return PruneReport{}, false, ErrReadOnly
	}
	// Before, so that processes which end together do not all do it.
	if err := osfile.WriteFile(stamp, []byte(o.Now.UTC().Format(time.RFC3339Nano)+"\n")); err != nil {
		return PruneReport{}, false, fmt.Errorf("binary: trim: %w", err)
	}
	report, err := d.Prune(o)
	return report, true, err
}

// Trim is Dir.Trim: limits are for the whole directory.
func (s *Store) Trim(o PruneOptions) (PruneReport, bool, error) { return s.dir.Trim(o) }
