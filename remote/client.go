package remote

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// Mode is what a process may do with a remote.
type Mode string

// The modes. The environment has them as SHADERCACHE_REMOTE_MODE.
const (
	Off       Mode = "off"
	Read      Mode = "read"
	ReadWrite Mode = "read-write"
)

// Options configure a Remote. Zero fields are taken from the environment, then from the
// defaults: see FromEnvironment.
type Options struct {
	URL    string              // SHADERCACHE_REMOTE
	Mode   Mode                // SHADERCACHE_REMOTE_MODE; default: read
	Keys   []ed25519.PublicKey // SHADERCACHE_REMOTE_KEYS: files, separated like PATH
	Budget time.Duration       // SHADERCACHE_REMOTE_BUDGET; all reads of one start; default: 150 ms

	// Unsigned accepts heads without a signature of Keys. A pack is executable code: who
	// can write to the store decides what the driver runs.
	Unsigned bool

	SignKey   ed25519.PrivateKey // for Push; default: heads are not signed
	LeaseTime time.Duration      // default: 30 s
	MaxBytes  int64              // unpacked bytes of all packs of a pull; default: 4 GiB
	Logger    *slog.Logger
}

// FromEnvironment fills the zero fields of o from the environment. It returns an error for
// a value that cannot be understood.
func FromEnvironment(o Options) (Options, error) { return o, nil }

// Remote is a remote and what is known of it on this machine: the highest sequence seen,
// and whether it failed lately (the breaker), in <dir>/remote/. Its methods may be called
// from any goroutine.
type Remote struct{}

// Open opens a remote for a cache directory. It does not wait for the network. It returns an
// error for a URL whose scheme no imported backend serves, and for settings that cannot work.
func Open(dir *binary.Dir, o Options) (*Remote, error) { return nil, nil }

// Close ends background work within a second.
func (r *Remote) Close() error { return nil }

// Prepare begins to connect, while the caller makes its context.
func (r *Remote) Prepare() {}

// Start brings the packs of a driver into the directory, before the driver's first load or
// compile. It returns when they are installed, or when the budget is spent: the pull then
// continues in the background and serves the next start. It does nothing while the breaker
// is open, and does not wait where an earlier start has pulled: it then looks for a newer
// head in the background. It never returns an error: the report has it.
func (r *Remote) Start(ctx context.Context, driver binary.Fingerprint) StartReport {
	return StartReport{}
}

// StartReport is the result of Start.
type StartReport struct {
	Outcome Outcome       `json:"outcome"`
	Waited  time.Duration `json:"waited_ns"`
	Pull    PullReport    `json:"pull"`
	Err     error         `json:"-"`
}

// Outcome is how a start's use of the remote ended.
type Outcome string

// The outcomes.
const (
	Pulled    Outcome = "pulled"  // packs were installed before the first program
	Current   Outcome = "current" // nothing newer, or not asked
	Missing   Outcome = "missing" // the remote has nothing for this driver
	Late      Outcome = "late"    // the budget was spent: the next start has them
	Failed    Outcome = "failed"  // an error; never counted as missing
	BreakerOn Outcome = "breaker" // not asked, since it failed lately
	Leased    Outcome = "leased"  // nothing there; this process compiles for all others
	Disabled  Outcome = "off"
)

// Pull brings the packs of drivers into the directory. Fingerprints nil = all of the remote,
// which has to be able to list.
func (r *Remote) Pull(ctx context.Context, o PullOptions) (PullReport, error) {
	return PullReport{}, nil
}

// PullOptions select what Pull brings.
type PullOptions struct {
	Current   *binary.Fingerprint // this machine's driver
	AnyDriver bool                // all drivers, for image builds without a GPU
	Progress  func(done, total int64)
}

// PullReport is the result of a pull.
type PullReport struct {
	Heads       int   `json:"heads"`
	Packs       int   `json:"packs"`   // fetched
	Present     int   `json:"present"` // packs that were installed before
	Bytes       int64 `json:"bytes"`   // fetched
	Programs    int   `json:"programs"`
	DriverFiles int   `json:"driver_files"`
}

// Push adds what the head lacks, as one pack, and compacts many small packs into one.
func (r *Remote) Push(ctx context.Context, o PushOptions) (PushReport, error) {
	return PushReport{}, nil
}

// PushOptions select what Push sends.
type PushOptions struct {
	Fingerprints []shader.Digest // default: all of the directory
	Sources      bool            // default: packs have no sources
	Progress     func(done, total int64)
}

// PushReport is the result of a push.
type PushReport struct {
	Heads    int    `json:"heads"` // changed
	Packs    int    `json:"packs"` // written
	Bytes    int64  `json:"bytes"`
	Programs int    `json:"programs"` // that the remote lacked
	Sequence uint64 `json:"sequence"`
}

// Heads returns the heads of the remote: for remote list and status.
func (r *Remote) Heads(ctx context.Context) ([]Head, error) { return nil, nil }

// Compact makes one pack of all packs of a driver.
func (r *Remote) Compact(ctx context.Context, fingerprint shader.Digest) (PushReport, error) {
	return PushReport{}, nil
}

// Prune deletes the heads that are older than age, but for those of keep, and packs that no
// head lists and that are older than a day.
func (r *Remote) Prune(ctx context.Context, o PruneOptions) (PruneReport, error) {
	return PruneReport{}, nil
}

// PruneOptions select what Prune deletes.
type PruneOptions struct {
	Age    time.Duration
	Keep   []shader.Digest
	DryRun bool
}

// PruneReport is the result of Prune.
type PruneReport struct {
	Heads []Head   `json:"heads"`
	Names []string `json:"objects"`
	Bytes int64    `json:"bytes"`
}

// Status is what is known of the remote on this machine, and of its last answer.
func (r *Remote) Status(ctx context.Context, driver *binary.Fingerprint) Status { return Status{} }

// Status is the state of a remote, for doctor and remote status.
type Status struct {
	URL       string        `json:"url"` // without credentials
	Mode      Mode          `json:"mode"`
	Reachable bool          `json:"reachable"`
	Latency   time.Duration `json:"latency_ns"` // of the request for the head
	Signed    bool          `json:"signed"`     // by one of the keys
	Head      *Head         `json:"head,omitempty"`
	Clock     time.Duration `json:"clock_ns"` // the store's clock, less this machine's; 0 = unknown
	Breaker   time.Time     `json:"breaker"`  // not asked until then; zero = asked
	Counters  Counters      `json:"counters"`
	Err       error         `json:"-"`
}

// Counters are summed over processes, in the directory.
type Counters struct {
	Hits      int64            `json:"hits"`   // starts that pulled, or were current
	Misses    int64            `json:"misses"` // the remote had nothing
	Errors    map[string]int64 `json:"errors"` // by class: unreachable, denied, busy, protocol, signature, rollback, damaged, ...
	Bytes     int64            `json:"bytes"`
	Time      time.Duration    `json:"time_ns"`
	Backfills int64            `json:"backfills"` // programs that were installed
}
