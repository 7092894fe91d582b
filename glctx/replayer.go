package glctx

import (
	"context"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/recording"
)

// Replayed is what a driver did with a recorded program.
type Replayed struct {
	LinkNanos  int64 // compiling and linking
	PrimeNanos int64
	Primed     Priming
	Context    recording.Context // of the replay; Replayer sets it

	// WrittenBefore is what [drivercache.Written] counted when the context was open: opening
	// one may write, which has nothing to do with the program.
	WrittenBefore int64

	// MachineCode is as that of shader.Program.
	MachineCode func() (entries []string, made bool)
}

// Priming is how the driver was made to finish a program.
type Priming uint8

// The values of Priming.
const (
	NotPrimed  Priming = iota // linked alone: a part of a pipeline, or a context without framebuffers
	Dispatched                // by a dispatch of no groups, as a program of the cache
	Drawn                     // by a draw of which no fragment is left
)

func (p Priming) String() string {
	return [...]string{"not primed", "dispatch", "draw"}[p]
}

// Replayer replays recorded programs, each in a context like the one that it was recorded
// in: it makes one for each API, version, profile and flags. One goroutine at a time may
// use it.
type Replayer struct {
	options  Options
	contexts map[recording.Context]replayContext
}

// replayContext is a context, or the reason why there is none.
type replayContext struct {
	*Context
	err error
}

// NewReplayer returns a replayer whose contexts have the options, but for Kind and Debug,
// which the programs decide. Close ends it.
func NewReplayer(o Options) *Replayer {
	o.replay = true
	return &Replayer{options: o, contexts: map[recording.Context]replayContext{}}
}

// Replay replays a program, see [Context.Replay]. Where the driver has no context of the
// version that the program was recorded in, it uses the next older one: an application
// that runs with this driver does so too. The error matches ErrTooOld, ErrKind or
// ErrNoDriver where there is no context at all.
func (r *Replayer) Replay(ctx context.Context, p *recording.Program) (Replayed, error) {
	c := r.context(p.Context)
	if c.err != nil {
		return Replayed{}, c.err
	}
	replayed, err := c.Context.Replay(ctx, p)
	replayed.Context = c.recordingContext()
	if c.Lost() {
		delete(r.contexts, p.Context) // the next program gets another
		err = errors.Join(err, c.Close())
	}
	return replayed, err
}

// Close closes the contexts.
func (r *Replayer) Close() error {
	var errs []error
	for _, c := range r.contexts {
		if c.err == nil {
			errs = append(errs, c.Close())
		}
	}
	clear(r.contexts)
	return errors.Join(errs...)
}

func (r *Replayer) context(like recording.Context) replayContext {
	c, known := r.contexts[like]
	if !known {
		c.Context, c.err = r.open(like)
		r.contexts[like] = c
	}
	return c
}

// replayVersions are the versions of both APIs with framebuffers and vertex arrays, the
// newest first.
var replayVersions = map[API][][2]int{
	OpenGL:   {{4, 6}, {4, 5}, {4, 4}, {4, 3}, {4, 2}, {4, 1}, {4, 0}, {3, 3}, {3, 2}, {3, 1}, {3, 0}},
	OpenGLES: {{3, 2}, {3, 1}, {3, 0}},
}

// open opens a context of the version of like, or the next older one that there is.
func (r *Replayer) open(like recording.Context) (*Context, error) {
	o := r.options
	o.Kind = kindOf(like)
	o.Debug = like.Flags&recording.FlagDebug != 0
	c, first := openManaged(o)
	for _, v := range replayVersions[o.Kind.API] {
		if first == nil || !errors.Is(first, ErrTooOld) && !errors.Is(first, ErrKind) {
			return c, first
		}
		if atLeast(v, int(like.Major), int(like.Minor)) {
			continue
		}
		o.Kind.Major, o.Kind.Minor = v[0], v[1]
		if c, err := openManaged(o); err == nil {
			return c, nil
		}
	}
	return nil, fmt.Errorf("glctx: replay: %s: %w", like, first)
}

// openManaged is Open, and fails where the driver keeps nothing in the cache directory.
func openManaged(o Options) (*Context, error) {
	c, err := Open(o)
	if err == nil && !c.driver.Managed {
		err = errors.Join(fmt.Errorf("a replay would leave nothing: the driver's own cache is not managed: %s", c.driver.Reason), c.Close())
		return nil, err
	}
	return c, err
}

// kindOf returns the kind of a recorded context. Programs of versions before 3.0 are
// replayed in 3.0 or newer, which has all that they use.
func kindOf(c recording.Context) Kind {
	k := Kind{
		Major: int(c.Major), Minor: int(c.Minor),
		Compatibility:     c.Profile&recording.ProfileCompatibility != 0,
		ForwardCompatible: c.Flags&recording.FlagForwardCompatible != 0,
		Robust:            c.Flags&recording.FlagRobust != 0,
		NoError:           c.Flags&recording.FlagNoError != 0,
	}
	if c.API == recording.OpenGLES {
		k.API = OpenGLES
	}
	if k.Major < 3 {
		k.Major, k.Minor = 3, 0
	}
	return k
}

// recordingContext returns how the driver reports the context.
func (c *Context) recordingContext() recording.Context {
	api := recording.OpenGL
	if c.info.API == OpenGLES {
		api = recording.OpenGLES
	}
	return recording.Context{API: api, Major: uint32(c.info.Major), Minor: uint32(c.info.Minor),
		Profile: c.info.Fingerprint.Profile, Flags: c.info.Fingerprint.Flags}
}
