package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/drivercache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/recording"
	"github.com/shadercache/shadercache/shader"
)

// Serve answers the requests of Run, in a process that its pool started, with contexts of
// the options. It returns when the pool closes its input.
func Serve(o glctx.Options) error {
	replayer := glctx.NewReplayer(o)
	return isolate.Child{
		Open: func() (isolate.Opened, error) {
			if state := glctx.ManageDriverCache(o); !state.Managed {
				return isolate.Opened{}, fmt.Errorf("a replay would leave nothing: the driver's own cache is not managed: %s", state.Reason)
			}
			return isolate.Opened{
				Compile: func(request string) isolate.Result { return compile(replayer, request) },
				Close:   replayer.Close,
			}, nil
		},
	}.Serve()
}

// compile replays the program of a request. When it returns, the driver has written what
// it made.
func compile(replayer *glctx.Replayer, request string) (r isolate.Result) {
	p, err := read(request)
	if err != nil {
		r.Err = err
		return r
	}
	replayed, err := replayer.Replay(context.Background(), p)
	if failure, ok := errors.AsType[*shader.CompileError](err); ok {
		r.Name, err = failure.Name, failure
	}
	if r.Err = err; err != nil {
		return r
	}
	if replayed.Primed == glctx.NotPrimed {
		drivercache.Flush() // Settle would wait for machine code
	} else {
		drivercache.Settle()
	}
	r.Origin = job.Disk
	if isMade(replayed) {
		r.Origin = job.Compiled
	}
	r.CompileNanos, r.PrimeNanos = replayed.LinkNanos, replayed.PrimeNanos
	text, err := json.Marshal(detail{replayed.Primed, replayed.Context})
	if err != nil {
		panic(err) // numbers can be encoded
	}
	r.Detail = string(text)
	return r
}

// minEntryBytes is less than machine code in a driver's cache has, and more than a process
// writes that compiles nothing. Mesa's entry for a kernel of one addition has 1,160 bytes.
// The process writes 75 for a program that was there, and the Go runtime 8 more each time
// that it wakes a thread: 200 have been seen on a busy machine.
const minEntryBytes = 512

// isMade reports whether the driver added to its cache.
func isMade(r glctx.Replayed) bool {
	if after, known := drivercache.Written(); known {
		return after-r.WrittenBefore >= minEntryBytes
	}
	_, made := r.MachineCode() // or another process added something
	return made
}

// read returns the program of a request.
func read(request string) (*recording.Program, error) {
	var item Item
	if err := json.Unmarshal([]byte(request), &item); err != nil {
		return nil, fmt.Errorf("replay: decode a request: %w", err)
	}
	r, err := recording.Open(item.Recording)
	if err != nil {
		return nil, err
	}
	return r.Program(item.Program)
}
