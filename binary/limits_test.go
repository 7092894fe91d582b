package binary

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A directory without limits of its own has the defaults, by size and by number of
// files. Those that are stored replace them, those of the caller both, and negative ones
// are none.
func TestADirectoryHasLimitsByDefault(t *testing.T) {
	d := openTestDir(t)
	check := func(what string, o, want PruneOptions) {
		t.Helper()
		if got := d.withLimits(o); got.MaxBytes != want.MaxBytes || got.MaxFiles != want.MaxFiles || got.MaxAge != want.MaxAge {
			t.Errorf("%s: %+v", what, got)
		}
	}
	check("default", PruneOptions{}, PruneOptions{MaxBytes: defaultMaxBytes, MaxFiles: defaultMaxFiles})
	check("of the caller", PruneOptions{MaxBytes: 5, MaxFiles: -1, MaxAge: day}, PruneOptions{MaxBytes: 5, MaxFiles: -1, MaxAge: day})
	must(t, d.PutSettings(Settings{MaxFiles: 7, MaxAge: time.Hour}))
	check("stored", PruneOptions{}, PruneOptions{MaxBytes: defaultMaxBytes, MaxFiles: 7, MaxAge: time.Hour})
	check("of the caller over stored", PruneOptions{MaxFiles: 9}, PruneOptions{MaxBytes: defaultMaxBytes, MaxFiles: 9, MaxAge: time.Hour})
	must(t, os.WriteFile(d.SettingsPath(), []byte("{"), 0o600))
	check("damaged settings", PruneOptions{}, PruneOptions{MaxBytes: defaultMaxBytes, MaxFiles: defaultMaxFiles})
}

// A Trim without options keeps the directory to the stored number of files: the least
// recently used go, of both layers.
func TestTrimKeepsTheNumberOfFiles(t *testing.T) {
	d, _ := pruneFixture(t)
	must(t, d.PutSettings(Settings{MaxFiles: 7}))
	report, trimmed, err := d.Trim(PruneOptions{Now: start})
	if err != nil || !trimmed || report.Programs != 1 || report.DriverFiles != 2 {
		t.Errorf("%+v, %v, %v", report, trimmed, err)
	}
	if _, err := os.Stat(filepath.Join(d.DriverDir(), "nvidia", "GLCache", "0123", "4567", "app1.bin")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the oldest file of the driver: %v", err)
	}
}
