package cache

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/shadercache/shadercache/binary"
)

// Options configure a [Cache]. The zero value is a good choice.
type Options struct {
	// Dir is the cache directory. Default: binary.DefaultDir().
	Dir string

	// MemoryOnly keeps nothing on disk. Default: false.
	MemoryOnly bool

	// Store replaces the store in Dir. The cache owns it and closes it.
	// Default: the store of the device's fingerprint in Dir.
	Store Store

	// MaxPrograms is how many programs stay resident. An eviction looks at all of
	// them: about 0.1 us each. Default: 256.
	MaxPrograms int

	// MaxBytes is how many bytes of programs stay resident, as measured by
	// Program.Bytes: GL tells no real size. Default: 64 MiB.
	MaxBytes int64

	// KeepEvictedBytes is how many payload bytes of evicted programs stay in
	// memory, so that these programs come back without the disk. Resident
	// programs keep their payload too, at a cost of about Stats.ResidentBytes of
	// memory. Default: 8 MiB; negative: none, for resident programs neither.
	KeepEvictedBytes int64

	// FailWhenFull makes Get return ErrFull when a program does not fit because
	// everything is in use. Default: the limit is passed and
	// Counters.OverCapacity says so.
	FailWhenFull bool

	// Logger receives warnings: that there is no store, and the first failure
	// of each kind. Default: none.
	Logger *slog.Logger

	// Now is the clock. Default: time.Now, whose monotonic part orders uses.
	Now func() time.Time
}

const (
	defaultMaxPrograms      = 256
	defaultMaxBytes         = 64 << 20
	defaultKeepEvictedBytes = 8 << 20
)

func (o Options) withDefaults() Options {
	if o.MaxPrograms <= 0 {
		o.MaxPrograms = defaultMaxPrograms
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.KeepEvictedBytes == 0 {
		o.KeepEvictedBytes = defaultKeepEvictedBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Reasons for which a cache has no store. Others carry an error.
const (
	memoryOnlyWanted    = "Options.MemoryOnly is set"
	memoryOnlyNoFormats = "the driver offers no program binary formats: is MESA_SHADER_CACHE_DISABLE set?"
)

// openStore opens the store that o asks for, or returns the reason why there is
// none.
func openStore(o Options, fingerprint binary.Fingerprint) (store Store, memoryOnly string) {
	switch {
	case o.MemoryOnly:
		memoryOnly = memoryOnlyWanted
	case len(fingerprint.Formats) == 0:
		memoryOnly = memoryOnlyNoFormats
	case o.Store != nil:
		return o.Store, ""
	default:
		return openDirStore(o.Dir, fingerprint)
	}
	if o.Store != nil {
		o.Store.Close()
	}
	return nil, memoryOnly
}

func openDirStore(path string, fingerprint binary.Fingerprint) (store Store, memoryOnly string) {
	if path == "" {
		var err error
		if path, err = binary.DefaultDir(); err != nil {
			return nil, err.Error()
		}
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil, fmt.Sprintf("the cache directory cannot be used: %v", err)
	}
	opened, err := dir.Store(fingerprint)
	if err != nil {
		return nil, fmt.Sprintf("the store cannot be opened: %v", err)
	}
	return opened, ""
}
