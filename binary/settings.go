package binary

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"
)

// settingsName is the file with the settings of a cache directory, for every process that
// uses it. People may edit it:
//
//	{"schema": 1, "max_bytes": 4294967296, "max_files": 200000, "max_age": "720h0m0s"}
//
// A field that is left out, or 0, is not set. A file of a later schema, or one that
// cannot be read, counts as none: Settings returns the error, [Dir.Trim] ignores it.
const (
	settingsName   = "settings.json"
	settingsSchema = 1
)

var settingsKind = whole[settingsFile]{name: settingsName, limit: 64 << 10}

// The limits of a directory in which none is stored. 2 GiB hold some 80,000 programs of
// NVIDIA's, 26 KB each with their machine code; drivers limit their own caches to 1 GiB.
// 100,000 files of 2 KB take 400 MB on disk, and a prune reads all of them in seconds.
const (
	defaultMaxBytes = 2 << 30
	defaultMaxFiles = 100_000
)

// Settings are the limits that are stored in a cache directory. [Dir.Trim] enforces them
// where its caller sets none.
type Settings struct {
	MaxBytes int64         // of programs and machine code together; 0 = defaultMaxBytes
	MaxFiles int           // number of those files; 0 = defaultMaxFiles
	MaxAge   time.Duration // since the last use; 0 = no limit
}

// WithDefaults returns the settings with the default of each limit that is not set.
func (s Settings) WithDefaults() Settings {
	s.MaxBytes, s.MaxFiles = cmp.Or(s.MaxBytes, defaultMaxBytes), cmp.Or(s.MaxFiles, defaultMaxFiles)
	return s
}

type settingsFile struct {
	Schema   int    `json:"schema"`
	MaxBytes int64  `json:"max_bytes,omitempty"`
	MaxFiles int    `json:"max_files,omitempty"`
	MaxAge   string `json:"max_age,omitempty"`
}

// SettingsPath returns the path of the file that PutSettings writes.
func (d *Dir) SettingsPath() string { return filepath.Join(d.path, settingsName) }

// Settings returns the stored settings, which are zero where none are stored.
func (d *Dir) Settings() (Settings, error) {
	file, err := settingsKind.read(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	var s Settings
	if err == nil && file.MaxAge != "" {
		s.MaxAge, err = time.ParseDuration(file.MaxAge)
	}
	s.MaxBytes, s.MaxFiles = file.MaxBytes, file.MaxFiles
	switch {
	case err != nil:
	case file.Schema != settingsSchema:
		err = fmt.Errorf("schema %d, and this program reads schema %d", file.Schema, settingsSchema)
	case s.MaxBytes < 0 || s.MaxFiles < 0 || s.MaxAge < 0:
		err = errors.New("a limit is negative")
	}
	if err != nil {
		return Settings{}, fmt.Errorf("binary: %s: %w", d.SettingsPath(), err)
	}
	return s, nil
}

// PutSettings stores settings, and removes the file where s is zero.
func (d *Dir) PutSettings(s Settings) error {
	if d.readOnly {
		return ErrReadOnly
	}
	if s == (Settings{}) {
		return wrap("settings", removeIfExists(d.SettingsPath()))
	}
	file := settingsFile{Schema: settingsSchema, MaxBytes: s.MaxBytes, MaxFiles: s.MaxFiles}
	if s.MaxAge > 0 {
		file.MaxAge = s.MaxAge.String()
	}
	return wrap("settings", settingsKind.write(d.path, file))
}
