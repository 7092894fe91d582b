package shadercache

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/fleet"
)

// Stats is what the levels of a GPU's programs did since it was opened.
type Stats struct {
	Server bool              `json:"server"` // a server has the GPU and the cache
	Cache  cache.Stats       `json:"cache"`  // memory and disk
	Remote fleet.StartReport `json:"remote"` // the outcome is off where there is no remote
}

// Stats returns the state of the cache, and how this start used the remote: the outcome is
// empty until that has ended, which the first program waits for, and the pull of a start
// that was late is filled in when its packs are there. Stats touches neither GL nor the disk.
func (g *GPU) Stats() Stats {
	return Stats{Cache: g.Cache.Stats(), Remote: g.fleet.result()}
}

// fleetMember is the use of a remote by one process.
type fleetMember struct {
	remote *fleet.Remote
	logger *slog.Logger

	started chan struct{} // nil until start; closed when the remote's Start has returned
}

// openFleet opens the remote that the options and the environment choose, and begins to
// connect. It returns nil where there is none. One that cannot be used is a warning.
func openFleet(o Options) *fleetMember {
	if !o.hasRemote() {
		return nil
	}
	dir := o.place().Open().Dir
	if dir == nil {
		return nil // the cache logs it
	}
	f := &fleetMember{logger: cmp.Or(o.Cache.Logger, slog.New(slog.DiscardHandler))}
	settings, err := o.remoteSettings()
	if err == nil {
		f.remote, err = fleet.Open(dir, settings)
	}
	if err != nil {
		f.warnUnusable(settings, err)
		return nil
	}
	f.remote.Prepare()
	return f
}

// hasRemote reports whether there is a remote to use, or settings of one that are wrong.
// There is none in a child process that tries programs, and where nothing is kept on disk.
func (o Options) hasRemote() bool {
	if o.Cache.MemoryOnly || o.Cache.Store != nil || o.Cache.InTrial || o.Remote.Mode == fleet.Off {
		return false
	}
	settings, err := o.remoteSettings()
	return err != nil || settings.URL != "" && settings.Mode != fleet.Off
}

// remoteSettings returns Options.Remote with what the environment adds. A process that has more
// rights than its user has no remote: packs are executable code, and backends find credentials, the
// programs that tell them, and proxies in the environment.
func (o Options) remoteSettings() (fleet.Options, error) {
	settings := o.Remote
	if settings.Mode == fleet.Off || isPrivileged() {
		settings.Mode = fleet.Off // whatever the environment has
		return settings, nil
	}
	settings.Logger = cmp.Or(settings.Logger, o.Cache.Logger)
	return fleet.FromEnvironment(settings)
}

// start begins to bring both layers into the directory, and makes the cache's first request
// for a program wait for them: the driver reads its own cache then. The wait is bounded by
// the remote's budget.
func (f *fleetMember) start(driver binary.Fingerprint, o *cache.Options) {
	if f == nil {
		return
	}
	f.started = make(chan struct{})
	go func() {
		defer close(f.started)
		f.remote.Start(context.Background(), driver)
	}()
	f.follow(o)
}

// follow makes the cache's first request for a program wait for the start.
func (f *fleetMember) follow(o *cache.Options) {
	before := o.BeforeFirst
	o.BeforeFirst = func() {
		if before != nil {
			before()
		}
		<-f.started
	}
}

// result returns the result of the start.
func (f *fleetMember) result() fleet.StartReport {
	if f == nil {
		return fleet.StartReport{Outcome: fleet.Disabled}
	}
	select {
	case <-f.started:
		return f.remote.Report()
	default:
		return fleet.StartReport{}
	}
}

// close pushes what this process compiled, where it may, for at most a second, and closes
// the remote. The contexts are closed before: the driver has written its machine code.
func (f *fleetMember) close(compiled bool) {
	if f == nil {
		return
	}
	if f.started != nil {
		<-f.started
	}
	if !compiled {
		f.remote.Unchanged()
	}
	if err := f.remote.Close(); err != nil {
		f.logger.Warn("the remote was not closed", "reason", err)
	}
}

// importsOf are the packages of this module that serve URLs.
var importsOf = map[string]string{
	"file": "file", "http": "http", "https": "http", "s3": "s3", "oci": "oci",
}

// warnUnusable logs why a remote is not used.
func (f *fleetMember) warnUnusable(settings fleet.Options, err error) {
	details := []any{"reason", err}
	scheme, _, _ := strings.Cut(settings.URL, ":")
	if name, known := importsOf[scheme]; known && errors.Is(err, fleet.ErrNoBackend) {
		details = append(details, "hint", `import _ "github.com/shadercache/shadercache/fleet/`+name+`"`)
	}
	f.logger.Warn("the remote is not used", details...)
}

// startPreload preloads what earlier starts asked for, beside the caller, where the options have
// a time for it. A failure is a warning. stop ends it, and waits until it has ended.
func startPreload(c *cache.Cache, o Options) (stop func()) {
	if o.FromHistory <= 0 || o.Cache.InTrial {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var preload sync.WaitGroup
	preload.Go(func() {
		_, err := c.PreloadHistory(ctx, o.FromHistory, nil)
		if err != nil && !errors.Is(err, context.Canceled) && o.Logger != nil {
			o.Logger.Warn("what earlier starts asked for was not preloaded", "reason", err)
		}
	})
	return func() {
		cancel()
		preload.Wait()
	}
}
