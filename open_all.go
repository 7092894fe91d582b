package shadercache

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// GPUs are the GPUs that [OpenAll] opens: one context and thread each, over one cache
// directory. Its methods may be called from any goroutine.
type GPUs struct {
	opening []opening
	remotes remotes       // of the GPUs that are open
	opened  chan struct{} // closed when no further GPU is opened

	wantOthers func()        // closes wanted
	wanted     chan struct{} // closed when a further GPU is waited for
}

// opening is a GPU that is open, or is being opened.
type opening struct {
	device string
	done   chan struct{} // closed when the fields below are set
	gpu    *GPU
	err    error
}

// OpenAll opens the GPUs of Options.Devices, all with the same options, and returns when
// the first is open. The others are opened in the background, one after the other: the
// kernel makes one context at a time, and a driver loads no programs meanwhile. So they are
// opened when the first has loaded its programs, when one of them is waited for, or after
// 100 ms. A program that several of them request is compiled by one and loaded by the
// others, where their driver is the same.
//
// It returns the errors of Open for the first; those of others are returned by
// [GPUs.Wait]. package devices has one device over all of them. Close closes all.
func OpenAll(o Options) (*GPUs, error) {
	if o.Device != "" || o.Context.Device != "" {
		return nil, errors.New("shadercache: open all: Options.Devices chooses the GPUs: leave Device empty")
	}
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("shadercache: open all: %w", err)
	}
	names, err := o.deviceNames()
	if err != nil {
		return nil, fmt.Errorf("shadercache: open all: %w", err)
	}
	all := &GPUs{opened: make(chan struct{}), wanted: make(chan struct{}), remotes: remotes{}}
	all.wantOthers = sync.OnceFunc(func() { close(all.wanted) })
	o.Cache.SingleFlight = cache.NewSingleFlight()
	for _, name := range names {
		all.opening = append(all.opening, opening{device: name, done: make(chan struct{})})
	}
	all.opening[0].open(o, nil)
	if err := all.opening[0].err; err != nil {
		return nil, err
	}
	go all.openOthers(o)
	return all, nil
}

// deviceNames returns the devices of Options.Devices. Without any it returns those that
// are not software, else the first.
func (o Options) deviceNames() ([]string, error) {
	if len(o.Devices) > 0 {
		return slices.Clone(o.Devices), nil
	}
	glctx.ManageDriverCache(o.distribute().Context) // before the driver is loaded
	return DeviceNames()
}

// DeviceNames returns the default of Options.Devices: the indexes of the GPUs that EGL lists
// except software drivers, else an empty name, which is the first that works.
func DeviceNames() ([]string, error) {
	list, err := glctx.Devices()
	if errors.Is(err, glctx.ErrNoDevice) {
		return []string{""}, nil // an EGL that has one device
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range list {
		if !d.Software {
			names = append(names, fmt.Sprint(d.Index))
		}
	}
	if len(names) == 0 {
		names = []string{""}
	}
	return names, nil
}

// open opens the GPU, beside others that share remotes.
func (p *opening) open(o Options, shared remotes) {
	defer close(p.done)
	o.Device = p.device
	p.gpu, p.err = open(o, shared)
}

func (a *GPUs) openOthers(o Options) {
	defer close(a.opened)
	first := a.opening[0].gpu
	a.remotes.add(first)
	if len(a.opening) > 1 {
		a.awaitFirst(first.Cache)
	}
	if o.Tracer == nil {
		o.Tracer = first.tracer // the file of the environment has all of them
	}
	for i := range a.opening[1:] {
		a.opening[i+1].open(o, a.remotes)
		if gpu := a.opening[i+1].gpu; gpu != nil {
			a.remotes.add(gpu)
		}
	}
}

// How long the further GPUs wait for the first: until it has loaded nothing for a time, if
// it has loaded anything, and at most for another. Between two programs of a start there
// are less than 2 ms.
const (
	firstIdle = 3 * time.Millisecond
	firstMost = 100 * time.Millisecond
)

// awaitFirst waits until the first GPU has loaded its programs, or another one is wanted.
func (a *GPUs) awaitFirst(programs *cache.Cache) {
	tick := time.NewTicker(firstIdle / 3)
	defer tick.Stop()
	began, loaded, last := time.Now(), 0, time.Now()
	for time.Since(began) < firstMost && (loaded == 0 || time.Since(last) < firstIdle) {
		select {
		case <-a.wanted:
			return
		case <-tick.C:
		}
		if n := programs.Stats().Resident; n != loaded {
			loaded, last = n, time.Now()
		}
	}
}

// Opened returns a channel that is closed when the GPU of an index is open, or cannot be
// opened. Unlike Wait it does not cause it to be opened earlier.
func (a *GPUs) Opened(i int) <-chan struct{} { return a.opening[i].done }

// Len returns the number of GPUs, open or not.
func (a *GPUs) Len() int { return len(a.opening) }

// Wait waits until the GPU of an index is open, and returns it or the error of opening it.
// The caller must not close it. When ctx ends first it returns ctx.Err().
func (a *GPUs) Wait(ctx context.Context, i int) (*GPU, error) {
	p := &a.opening[i]
	select {
	case <-p.done:
		return p.gpu, p.err
	default:
	}
	a.wantOthers()
	select {
	case <-p.done:
		return p.gpu, p.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Device returns the name that the GPU of an index was opened by, as in Options.Devices.
func (a *GPUs) Device(i int) string { return a.opening[i].device }

// Close waits until no GPU is being opened and closes all, the first one last. It must be
// called once. It returns the errors of GPU.Close.
func (a *GPUs) Close() error {
	a.wantOthers()
	<-a.opened
	var errs []error
	compiled := false
	for i := len(a.opening) - 1; i >= 0; i-- {
		gpu := a.opening[i].gpu
		if gpu == nil {
			continue
		}
		compiled = compiled || gpu.Cache.Stats().Compiles > 0
		gpu.othersCompiled = compiled
		errs = append(errs, gpu.Close())
	}
	return errors.Join(errs...)
}

// remotes are the uses of a remote, one for each driver, by its fingerprint. Only the goroutine
// that opens the GPUs uses it.
type remotes map[shader.Digest]*fleetMember

// add adds the use of a GPU, unless its driver has one.
func (r remotes) add(g *GPU) {
	if driver := g.Context.Fingerprint().Digest(); g.fleet != nil && r[driver] == nil {
		r[driver] = g.fleet
	}
}
