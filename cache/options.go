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

	// Upstream is a cache directory that is only read, where Dir does not have a
	// program: one that came with a container image, say. It may be root's.
	// Where Dir cannot be used, Upstream alone is. Default:
	// $SHADERCACHE_UPSTREAM, else none.
	Upstream string

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

	// MaxDiskBytes and MaxDiskAge bound what the cache directory holds, programs
	// of all drivers and the driver's own cache together: see
	// binary.PruneOptions. They are enforced by Flush and Close, at most once a
	// day for a directory. Default: 0, no limit.
	MaxDiskBytes int64
	MaxDiskAge   time.Duration

	// KeepSources keeps the text of every program beside its binary, some 1 KB
	// each, for Store.Missing and Store.Why. Default: false.
	KeepSources bool

	// NegativeCacheOff gives a source that did not compile to the driver at every
	// request. Default: the first error is the answer, for the latest 256 such
	// sources.
	NegativeCacheOff bool

	// KeepCompileErrors remembers sources that did not compile on disk too, for
	// the same driver, until Store.ForgetFailure or for 30 days. Default: false.
	KeepCompileErrors bool

	// RecordCrashes has Go's runtime write beside the marks of the store which
	// signal ended the process (debug.SetCrashOutput, of which a process has
	// one), so that a source which the driver crashes of is refused from the next
	// start on. Without it nobody can tell a crash from a Ctrl-C, and it takes a
	// second death. A device such as *glctx.Context tells of a signal on a thread
	// that the driver started too, by a signal handler in front of the runtime's,
	// see DeviceCrashTeller. Default: false, since the application may have its
	// own use of both.
	RecordCrashes bool

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

// opened is the outcome of openStore.
type opened struct {
	store      Store
	memoryOnly string // why store is nil
	trouble    error  // something is wrong, but there is a store
}

// openStore opens the store that o asks for.
func openStore(o Options, fingerprint binary.Fingerprint) opened {
	var reason string
	switch {
	case o.MemoryOnly:
		reason = memoryOnlyWanted
	case len(fingerprint.Formats) == 0:
		reason = memoryOnlyNoFormats
	case o.Store != nil:
		return opened{store: o.Store}
	default:
		return openDirStore(o, fingerprint)
	}
	if o.Store != nil {
		o.Store.Close()
	}
	return opened{memoryOnly: reason}
}

func openDirStore(o Options, fingerprint binary.Fingerprint) opened {
	upstream, trouble := openUpstream(o.Upstream)
	store, err := openPrivateStore(o.Dir, upstream, fingerprint)
	if err == nil {
		return opened{store: store, trouble: trouble}
	}
	if upstream != nil {
		if store, upErr := upstream.Store(fingerprint); upErr == nil {
			return opened{store: store, trouble: fmt.Errorf("only the upstream directory is used: %w", err)}
		}
	}
	return opened{memoryOnly: err.Error()}
}

func openPrivateStore(path string, upstream *binary.Dir, fingerprint binary.Fingerprint) (*binary.Store, error) {
	if path == "" {
		var err error
		if path, err = binary.DefaultDir(); err != nil {
			return nil, err
		}
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil, fmt.Errorf("the cache directory cannot be used: %w", err)
	}
	if upstream != nil {
		dir = dir.WithUpstream(upstream)
	}
	store, err := dir.Store(fingerprint)
	if err != nil {
		return nil, fmt.Errorf("the store cannot be opened: %w", err)
	}
	return store, nil
}

// openUpstream opens the upstream directory, or returns nil where there is none.
func openUpstream(path string) (*binary.Dir, error) {
	if path == "" {
		path = binary.DefaultUpstream()
	}
	if path == "" {
		return nil, nil
	}
	return binary.OpenUpstream(path)
}
