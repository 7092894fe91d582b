package cache

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/shadercache/shadercache/trace"
)

// Options configure a [Cache]. The zero value is a good choice.
type Options struct {
	// Dir is the cache directory. It must be that of the driver's own cache, where
	// the device manages one: see ErrApart. Default: see binary.Place.
	Dir string

	// Upstream is a second cache directory, for programs that Dir does not have,
	// such as one from a container image. It is only read and may belong to root. What
	// it has for this driver's own cache is copied into Dir before the first program,
	// once for each state of it: see drivercache.Fill. When Dir cannot be used, a private
	// place is, which Logger names: see binary.Place. Default: $SHADERCACHE_UPSTREAM,
	// else none.
	Upstream string

	// Filled makes a private place of use without Upstream too: something else fills the
	// directory, such as BeforeFirst. A context of package glctx needs the same value.
	// Default: false.
	Filled bool

	// Backfill copies programs that are found in Upstream to Dir, in the background, so
	// that Upstream may go away. Machine code is copied in any case. Default:
	// $SHADERCACHE_BACKFILL is 1.
	Backfill bool

	// Binaries chooses whether program binaries are stored and loaded:
	//
	//	auto     unless the driver's are known to misbehave, or it refused most of
	//	         those that it made itself: see binary.Store.SourceOnly
	//	always   whatever the driver did
	//	never    programs are made from their sources
	//
	// Without binaries a start compiles every program; the driver's own cache, which is
	// kept in any case, makes that short. Stats.SourceOnly has the reason. Default:
	// $SHADERCACHE_BINARIES, else auto.
	Binaries string

	// MemoryOnly keeps nothing on disk. Default: false.
	MemoryOnly bool

	// Store replaces the store in Dir. The cache owns it and closes it.
	// Default: the store of the device's fingerprint in Dir.
	Store Store

	// MaxPrograms is how many programs stay resident. An eviction costs about
	// 0.1 us for each of them. Where every one is in use the limits are exceeded, and
	// Counters.OverCapacity counts that. Default: 256.
	MaxPrograms int

	// MaxBytes is how many bytes of programs stay resident, as measured by
	// Program.Bytes: GL has no query for the real size. Default: 64 MiB.
	MaxBytes int64

	// MinFreeGPUBytes evicts programs without handles, the older half of them, when the GPU
	// has less free memory: other processes use it too. It is looked at when a program is
	// loaded or compiled, at most once a second, which takes the device's thread a query.
	// It needs GL_NVX_gpu_memory_info or GL_ATI_meminfo. Default: 0, never; GL_OUT_OF_MEMORY
	// evicts all idle programs in any case.
	MinFreeGPUBytes int64

	// KeepEvictedBytes is how many payload bytes of evicted programs stay in
	// memory, so that these programs are loaded again without the disk. Resident
	// programs keep their payload too, which takes about Stats.ResidentBytes of
	// memory. Default: 8 MiB; negative: none, nor for resident programs.
	KeepEvictedBytes int64

	// MaxDiskBytes, MaxDiskFiles and MaxDiskAge limit the cache directory, programs
	// of all drivers and the driver's own cache together: see
	// binary.PruneOptions. Flush and Close enforce them, at most once a day for a
	// directory. Default: 0, the limit that is stored in the directory
	// ("shadercache config set max-bytes 4G"), else 2 GiB, 100,000 files and any
	// age; negative: none.
	MaxDiskBytes int64
	MaxDiskFiles int
	MaxDiskAge   time.Duration

	// NoSave has the store only read: programs that were compiled are not written. Uses and
	// counters are. Default: false, they are written in the background as soon as they are
	// compiled.
	NoSave bool

	// ShareCompiles is for processes of one machine that start together and need the same
	// programs: each is compiled by one of them and loaded by the others. It is how long
	// nothing may happen before a process compiles what another one is compiling, as when
	// that one is stopped; it does not wait for more than a compile otherwise. Programs
	// are compiled one at a time then, where a driver may compile several side by side.
	// It pays with Mesa, whose machine code is shared too; with NVIDIA's driver it does not.
	// Some seconds are a good choice. It excludes NoSave, and needs locks of the file system, and
	// Linux.
	// Default: 0, each process compiles what it does not find.
	ShareCompiles time.Duration

	// KeepSources keeps the text of every program beside its binary, some 1 KB
	// each, for Rebuild and binary.Store.Explain. Default: false.
	KeepSources bool

	// History records, at Close, the programs that this process asked for, in order and with
	// times, the first 1,000, and keeps their texts, for PreloadHistory and "shadercache
	// preload --from-history". Default: $SHADERCACHE_HISTORY is 1.
	History bool

	// FillOnly is for a process that only fills or maintains the directory: it
	// counts as no start, so that the figures of starts, such as compiles per
	// start, are those of applications. Default: false.
	FillOnly bool

	// KeepCompileErrors keeps sources that did not compile on disk too, for the
	// same driver, until binary.Store.ForgetFailure or for 30 days. Default:
	// false.
	KeepCompileErrors bool

	// RecordCrashes writes the signal that ends the process to the store, so that
	// a source that crashes the driver is refused at once. Without it a
	// crash cannot be distinguished from a Ctrl-C, and without a Trier too a source
	// that crashes is compiled again at every start. It sets debug.SetCrashOutput, of which a process has one,
	// and with *glctx.Context a signal handler for threads that the driver
	// started: see Device.SetCrashOutput. Default: false, because the application
	// may need either itself. Where an earlier process ended in the first job of a program
	// without a record, this process records crashes nevertheless: a driver that crashes
	// there would end every start.
	RecordCrashes bool

	// Trier tries programs that were in the driver when a process ended, before this
	// process gives them to the driver. shadercache.Open sets it. Default: none;
	// they are compiled in this process, one at a time.
	Trier Trier

	// BeforeFirst is called once, on a goroutine of its own, by the first request for a
	// program that is not resident: a Get, Preload or Rebuild. It is the place to wait for
	// something that fills the directory, such as a download that began before the
	// context was opened: what is installed when it returns is found by that request, in
	// both layers, since neither the directory was read nor the driver called until then. All
	// requests wait for it, or until their context ends; so it has to bound its own time.
	// Close waits for it too. It must not call the cache. Default: none.
	BeforeFirst func()

	// InTrial is for the process in which a Trier tries programs: it loads suspects
	// too, and Preload returns when everything is stored. Default: false.
	InTrial bool

	// CrashGuard is the guard of another cache on the same device, which is
	// closed after this one: both refuse the same programs, and do not work while
	// the other works on a suspect. It is how a cache in memory only remembers
	// crashes. Default: a guard of its own, over its own store.
	CrashGuard *CrashGuard

	// SingleFlight is shared with the caches of other devices of this process, so that a
	// program is compiled by one of them. Default: none.
	SingleFlight *SingleFlight

	// Tracer receives what the cache does, and what callers wait for: see package trace.
	// A context has a Tracer of its own. Default: nothing is measured.
	Tracer trace.Tracer

	// Logger receives warnings: the lack of a store, and the first failure of
	// each kind. Default: none.
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
	o.KeepEvictedBytes = cmp.Or(o.KeepEvictedBytes, defaultKeepEvictedBytes)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}
