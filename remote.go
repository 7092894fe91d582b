package shadercache

import (
	"context"
	"log/slog"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/remote"
	"github.com/shadercache/shadercache/shader"
)

// maxPushTime is how long Close pushes. What is not pushed by then is pushed by a later
// process that compiles, or by shadercache push.
const maxPushTime = time.Second

// Stats is what the levels of a GPU's programs did since it was opened.
type Stats struct {
	Cache  cache.Stats        `json:"cache"`  // memory and disk
	Remote remote.StartReport `json:"remote"` // the outcome is off where there is no remote
}

// Stats returns the state of the cache, and how this start used the remote. It touches
// neither GL nor the disk.
func (g *GPU) Stats() Stats {
	s := Stats{Cache: g.Cache.Stats(), Remote: remote.StartReport{Outcome: remote.Disabled}}
	if g.fleet != nil {
		s.Remote = g.fleet.report
	}
	return s
}

// fleet is the use of a remote by one process.
type fleet struct {
	remote *remote.Remote
	mode   remote.Mode
	logger *slog.Logger
	driver binary.Fingerprint
	report remote.StartReport
}

// openFleet opens the remote that the options and the environment choose, and begins to
// connect. It returns nil where there is none. One that cannot be used is a warning.
func openFleet(o Options) *fleet {
	dir := o.remoteDir()
	if dir == nil {
		return nil
	}
	f := &fleet{logger: o.Cache.Logger}
	if f.logger == nil {
		f.logger = slog.New(slog.DiscardHandler)
	}
	settings, err := o.remoteSettings()
	if err == nil {
		if settings.URL == "" || settings.Mode == remote.Off {
			return nil
		}
		f.mode = settings.Mode
		f.remote, err = remote.Open(dir, settings)
	}
	if err != nil {
		f.logger.Warn("the remote is not used", "reason", err)
		return nil
	}
	f.remote.Prepare()
	return f
}

// remoteDir returns the directory that packs are installed in, or nil: in a child process
// that tries programs, and where nothing is kept on disk, which the cache logs.
func (o Options) remoteDir() *binary.Dir {
	if o.Cache.MemoryOnly || o.Cache.Store != nil || o.Cache.InTrial || o.Remote.Mode == remote.Off {
		return nil
	}
	path := o.Cache.Dir
	if path == "" {
		var err error
		if path, err = binary.DefaultDir(); err != nil {
			return nil
		}
	}
	dir, err := binary.OpenDir(path)
	if err != nil {
		return nil
	}
	return dir
}

// remoteSettings returns Options.Remote with what the environment adds. A process that has
// more rights than its user takes nothing from there: packs are executable code.
func (o Options) remoteSettings() (remote.Options, error) {
	settings := o.Remote
	if settings.Logger == nil {
		settings.Logger = o.Cache.Logger
	}
	if !isPrivileged() {
		return remote.FromEnvironment(settings)
	}
	if len(settings.Keys) == 0 && !settings.Unsigned {
		settings.URL = ""
	}
	return settings, nil
}

// start brings both layers into the directory, before the driver gets its first program.
func (f *fleet) start(driver binary.Fingerprint) {
	if f != nil {
		f.driver = driver
		f.report = f.remote.Start(context.Background(), driver)
	}
}

// close pushes what this process compiled, where it may, and closes the remote. The
// contexts are closed: the driver has written its machine code. Failures are warnings.
func (f *fleet) close(compiled uint64) {
	if f == nil {
		return
	}
	if compiled > 0 && f.mode == remote.ReadWrite {
		f.push()
	}
	if err := f.remote.Close(); err != nil {
		f.logger.Warn("the remote was not closed", "reason", err)
	}
}

func (f *fleet) push() {
	ctx, cancel := context.WithTimeout(context.Background(), maxPushTime)
	defer cancel()
	o := remote.PushOptions{Fingerprints: []shader.Digest{f.driver.Digest()}}
	if _, err := f.remote.Push(ctx, o); err != nil {
		f.logger.Warn("the remote lacks what this process compiled", "reason", err)
	}
}
