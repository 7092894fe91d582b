package fleet

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Remote is a remote and what is known of it on this machine: the highest sequence seen,
// and whether it failed lately (the breaker), in <dir>/remote/. Its methods may be called
// from any goroutine.
type Remote struct {
	options Options
	name    string // see Options.Name
	dir     *binary.Dir
	state   stateDir
	backend Backend // nil: off
	secret  secrets
	now     func() time.Time
	// syncVolume has all of a volume reach the disk.
	syncVolume func(path string) error

	// background is the context of what continues after a method returned.
	background context.Context
	cancel     context.CancelFunc
	running    sync.WaitGroup

	mu struct {
		sync.Mutex
		started   *binary.Fingerprint // the driver of Start
		job       *startJob           // the pull of Start; nil: there is none
		report    StartReport         // of Start, when it has returned
		lease     *lease              // held by this process
		keys      []byte              // the line of a list: see newestKeys
		unchanged bool                // see Unchanged
		closed    bool
		prepared  time.Time // when Prepare began; zero: it did not
	}
}

// closeWait is the time that Close gives to background work.
const closeWait = time.Second

// userAgent names this program to servers.
const userAgent = "shadercache"

// Open opens a remote for a cache directory. It does not wait for the network. It returns an
// error for a URL whose scheme no imported backend serves, and for settings that cannot work.
func Open(dir *binary.Dir, o Options) (*Remote, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r := &Remote{options: o, dir: dir, now: time.Now, syncVolume: osfile.SyncVolume}
	r.background, r.cancel = context.WithCancel(context.Background())
	if o.URL == "" && o.Mode != Off {
		return nil, fmt.Errorf("remote: open: there is no URL; set %s", urlVariable)
	}
	u, err := url.Parse(o.URL)
	if err != nil {
		// The error of url.Parse has the URL, and with it credentials.
		return nil, errors.New("remote: open: the URL cannot be parsed; it is like https://host/path or file:///path")
	}
	r.secret, r.name = secretsOf(u), cmp.Or(o.Name, nameOf(u))
	r.state = stateDir{filepath.Join(dir.Path(), Folder, remoteID(u))}
	if o.Mode == Off {
		return r, nil
	}
	if r.backend, err = openBackend(u, BackendOptions{UserAgent: userAgent, Getenv: os.Getenv}); err != nil {
		return nil, r.about("open", err)
	}
	r.backend = bounded{r.backend}
	return r, nil
}

// begin begins a command: with a context that ends with its patience. end, which the command defers,
// puts what it did with the remote into its error.
func (r *Remote) begin(ctx context.Context, done string, err *error) (patient context.Context, end func()) {
	patient, stop := r.patient(ctx)
	return patient, func() { stop(); *err = r.about(done, *err) }
}

// about returns an error with what was done with the remote, without credentials, or nil.
func (r *Remote) about(done string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("remote: %s %s: %w", done, r.URL(), r.secret.Clean(err))
}

// remoteID returns the name of a remote's state. One bucket at two endpoints of s3 is two remotes.
func remoteID(u *url.URL) string {
	id := placeOf(u)
	if u.Scheme == "s3" {
		endpoint := cmp.Or(u.Query().Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"))
		if e, err := url.Parse(endpoint); err == nil && endpoint != "" {
			id += placeOf(e)
		}
	}
	sum := sha256.Sum256([]byte(id))
	return shader.Digest(sum).Short()
}

// placeOf returns one text for all spellings of a URL: what was seen of a remote counts for each.
func placeOf(u *url.URL) string {
	place := *u
	port := map[string]string{"http": "80", "https": "443"}[u.Scheme]
	place.Host = strings.TrimSuffix(strings.ToLower(u.Host), ":"+port)
	place.Path, place.RawPath = path.Clean("/"+u.Path), ""
	return redact(&place)
}

// URL returns the URL of the remote without credentials.
func (r *Remote) URL() string { return r.secret.url }

// Mode returns what this process may do with the remote.
func (r *Remote) Mode() Mode { return r.options.Mode }

// Prepare begins to connect, while the caller makes its context. It does nothing while the
// breaker is open.
func (r *Remote) Prepare() {
	if b := r.state.breaker(); r.backend == nil || b.isOpen(r.now()) {
		return
	}
	r.mu.Lock()
	r.mu.prepared = time.Now()
	r.mu.Unlock()
	r.goBackground(func(ctx context.Context) {
		_ = r.backend.Connect(ctx) // the first Get has the same error
	})
}

// goBackground calls do in a goroutine that Close waits for. It reports false once Close
// was called.
func (r *Remote) goBackground(do func(ctx context.Context)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.mu.closed {
		return false
	}
	r.running.Go(func() { do(r.background) })
	return true
}

// Close ends background work within a second. It waits for a pull whose head was read, and
// not for a remote that does not answer within the budget. In mode read-write it first
// pushes what this process compiled, for at most a second, or a third of LeaseTime where
// other processes wait for it: the caller has closed its cache before.
func (r *Remote) Close() error {
	r.mu.Lock()
	closed := r.mu.closed
	r.mu.closed = true
	job := r.mu.job
	r.mu.Unlock()
	if closed {
		return nil
	}
	r.pushAtClose()
	deadline, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	idle := make(chan struct{})
	go func() { r.running.Wait(); close(idle) }()
	job.awaitEnd(deadline, idle)
	r.cancel()
	if r.backend == nil {
		return nil
	}
	select {
	case <-idle:
		return r.secret.Clean(r.backend.Close())
	case <-time.After(closeWait / 4):
		return nil // a store that hangs: the process ends without it
	}
}

// note logs an error of the state, without which the remote works.
func (r *Remote) note(err error) {
	if err != nil && r.options.Logger != nil {
		r.options.Logger.Debug("the state of the remote could not be stored", "remote", r.URL(), "error", err)
	}
}

// warn logs an error after which the program continues.
func (r *Remote) warn(message string, err error) {
	if err != nil && r.options.Logger != nil {
		r.options.Logger.Warn(message, "remote", r.URL(), "error", err)
	}
}
