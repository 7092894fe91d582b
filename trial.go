package shadercache

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// trialVariable makes a process one that tries programs: see Options.NoTrials.
const trialVariable = "SHADERCACHE_TRIAL"

// trialProcess is the value of trialVariable.
type trialProcess struct {
	Parent         int           `json:"parent"` // process id, so that no other process acts on it
	Dir            string        `json:"dir"`
	Upstream       string        `json:"upstream,omitempty"`
	Device         string        `json:"device,omitempty"`
	Kind           glctx.Kind    `json:"kind"` // of the context
	DriverCacheOff bool          `json:"driver_cache_off,omitempty"`
	Driver         shader.Digest `json:"driver"` // the fingerprint of the parent's driver
}

// errOtherDriver is reported by a child that opens another driver than its parent, such as
// the parent of a window on another GPU.
var errOtherDriver = errors.New("shadercache: the child process has another driver")

// The child is this executable, started again. It never reaches main, so that applications
// need no code for it.
func init() {
	value, set := os.LookupEnv(trialVariable)
	if !set {
		return
	}
	_ = os.Unsetenv(trialVariable) // not for the processes that this one starts
	var t trialProcess
	if json.Unmarshal([]byte(value), &t) != nil || t.Parent != os.Getppid() || isPrivileged() {
		return // inherited, or set by a user
	}
	if err := (isolate.Child{Open: t.open}).Serve(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// isPrivileged reports whether the process has more rights than its user, who must not
// choose what it does.
func isPrivileged() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }

// open opens the cache that the child tries programs with.
func (t trialProcess) open() (isolate.Opened, error) {
	start := time.Now()
	off := t.DriverCacheOff || isolate.HasOtherDriverCache()
	context, err := glctx.Open(glctx.Options{CacheDir: t.Dir, Upstream: t.Upstream, Device: t.Device, Kind: t.Kind, DriverCacheOff: off})
	if err != nil {
		return isolate.Opened{}, err
	}
	opened := time.Since(start)
	if context.Fingerprint().Digest() != t.Driver {
		return isolate.Opened{}, errors.Join(errOtherDriver, context.Close())
	}
	programs, err := cache.New(context, cache.Options{Dir: t.Dir, Upstream: t.Upstream, InTrial: true, FillOnly: true, RecordCrashes: true})
	if err != nil {
		return isolate.Opened{}, errors.Join(err, context.Close())
	}
	closeAll := func() error { return errors.Join(programs.Close(), context.Close()) }
	return isolate.Opened{Cache: programs, ContextTime: opened, Close: closeAll}, nil
}

// newTrier returns what tries suspects for a cache over context, or nil where nothing can.
func newTrier(context *glctx.Context, o Options) cache.Trier {
	if o.NoTrials || o.Cache.InTrial || o.Cache.MemoryOnly || o.Cache.Store != nil || isPrivileged() {
		return nil
	}
	l := o.place().Open()
	dir, upstream := l.Dir, ""
	if dir == nil {
		return nil // the cache logs it
	}
	if len(l.Upstream) > 0 {
		upstream = l.Upstream[0].Path()
	}
	how := context.Options()
	t := trialProcess{os.Getpid(), dir.Path(), upstream, how.Device, context.Kind(), how.DriverCacheOff, context.Fingerprint().Digest()}
	return &isolate.Trier{Dir: dir, Command: t.command, Logger: slog.New(slog.DiscardHandler)}
}

// command returns a command that starts the child. It has no arguments: they are for main.
func (t trialProcess) command() (*exec.Cmd, error) {
	value, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	// The file of the process itself, also where it was deleted or replaced.
	command := exec.Command("/proc/self/exe")
	if _, err := os.Lstat(command.Path); err != nil {
		executable, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command.Path = executable
	}
	command.Args = []string{os.Args[0]}
	command.Env = append(os.Environ(), trialVariable+"="+string(value))
	return command, nil
}
