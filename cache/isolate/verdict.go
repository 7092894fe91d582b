package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/shader"
)

// A child that crashed may have crashed of what the driver's own cache holds, and one that
// hung may merely have been slow. What follows from the end of a child:
//
//	the child                                consequence for its program
//	crashed while it loaded a binary, or     tried once more, without the binary
//	while it read one from the driver
//	crashed before the driver had it         tried once more
//	crashed, and so did a second child with  refused for a day
//	an empty cache of the driver
//	crashed, and no second child can start   tried once more, with the driver's cache set aside
//	crashed, and the second child did not    none: the driver's cache is set aside
//	ran out of time, or exited twice         refused for a minute, longer each time
//	took too much memory                     none: its error; a suspect is refused as one that hung
//	was killed otherwise                     tried once more, then its error

// driverCacheVariable is the directory of an empty driver cache, for a child that is
// started to find out whether the driver crashes of the one that it has.
const driverCacheVariable = "SHADERCACHE_ISOLATED_DRIVER_CACHE"

// HasOtherDriverCache reports whether this is a child whose driver has another cache than
// that of the cache directory: its context is opened with glctx.Options.DriverCacheOff.
func HasOtherDriverCache() bool { return hasOtherDriverCache.Load() }

var hasOtherDriverCache atomic.Bool

// replaceDriverCache makes the driver of a child use the directory of
// driverCacheVariable, if it is set.
func replaceDriverCache() error {
	dir := os.Getenv(driverCacheVariable)
	if dir == "" {
		return nil
	}
	_ = os.Unsetenv(driverCacheVariable)
	state := drivercache.Manage(dir)
	for _, driver := range [][2]string{{"NVIDIA", ""}, {"", "Mesa 22"}, {"", "Mesa 21"}} {
		if !state.Effective(driver[0], driver[1]).Managed {
			return errors.New("isolate: the driver's own cache is not managed") // so it is not ours to replace
		}
	}
	hasOtherDriverCache.Store(true)
	return nil
}

// crashedTwice has another child, with an empty cache of the driver, compile a program
// that a child crashed of. Where it crashes too, the program is refused. Otherwise the
// driver's cache is set aside, and the result is that of the second child. Where none can be
// started, the program is tried again, by the next child, for which that is done.
func (r *run) crashedTwice(result Result, lost *LostError) (_ Result, again bool, err error) {
	empty, err := os.MkdirTemp("", "shadercache-driver-")
	if err != nil {
		return result, false, fmt.Errorf("isolate: make an empty driver cache: %w", err)
	}
	defer os.RemoveAll(empty)
	defer os.Remove(empty + ".lock")
	child, err := r.startChild(func() (*exec.Cmd, error) {
		command, err := r.Command()
		if err == nil {
			command.Env = append(command.Environ(), driverCacheVariable+"="+empty)
		}
		return command, err
	})
	if err != nil {
		r.Logger.Warn("the driver crashed, and no second child could be started: the next one has the driver's own cache set aside", "error", err)
		return result, true, drivercache.RequestSetAside(r.Dir.DriverDir())
	}
	programs, err := child.send(r.request(result.Index))
	if second, ok := errors.AsType[*LostError](err); ok {
		if _, err = r.bury(child, second, result.Key); err == nil && second.Crashed() {
			result, err = r.refuse(result, lost)
		}
		return result, false, err
	}
	result = programs[0].result(result.Index)
	if result.Quarantined {
		return result, false, child.end()
	}
	result.BadDriverCache = true
	r.Logger.Warn("the driver's own cache is set aside: the driver crashed of it", "program", result.Name, "signal", lost.Signal)
	return result, false, errors.Join(child.end(), drivercache.SetAside(r.Dir.DriverDir()))
}

// refuse writes why the program of a result is refused from now on. One that the driver did not
// have when its child was lost is no suspect, and is not refused.
func (r *run) refuse(result Result, lost *LostError) (Result, error) {
	if r.Dir == nil {
		return result, nil
	}
	err := r.eachNote(result.Key, func(store *binary.Store, q binary.Quarantined) error {
		result.Quarantined = result.Quarantined || q.Suspect || q.Refused()
		if !q.Suspect {
			return nil
		}
		q.Action, q.Suspect, q.Signal = binary.ActionCompile, false, lost.Signal
		q.Reason = "a child process crashed (" + lost.Signal + ") while the driver had it, with an empty driver cache too"
		if !lost.Crashed() {
			q.Hangs++
			q.Reason = "the driver ended two child processes with it"
		}
		if lost.TimedOut {
			q.Reason = fmt.Sprintf("the driver did not complete it within %s", r.Timeout)
		}
		return store.Refuse(q)
	})
	return result, err
}

// isSuspect reports whether a child may have crashed of a program: the driver had it, and not
// its binary, which the next child does not use. Where the key is unknown any program may be.
func (r *run) isSuspect(key shader.Key) bool {
	suspect := key == shader.Key{}
	_ = r.eachNote(key, func(_ *binary.Store, q binary.Quarantined) error {
		suspect = suspect || q.Suspect
		return nil
	})
	return suspect
}

// eachNote calls do with the note of a program in each store that has one.
func (r *run) eachNote(key shader.Key, do func(*binary.Store, binary.Quarantined) error) error {
	return r.Dir.EachStore(func(_ string, store *binary.Store) error {
		if q, ok := store.Note(key); ok {
			return do(store, q)
		}
		return nil
	}, nil)
}
