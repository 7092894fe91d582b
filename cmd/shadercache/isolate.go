package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/cache/isolate"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/internal/replay"
)

// childName is the hidden command that compiles for preload and rebuild.
const childName = "preload-child"

const isolationUsage = "[--no-isolate|--jobs N --timeout D --memory SIZE]"

// isolationFlags are the flags of preload and rebuild for child processes.
type isolationFlags struct {
	NoIsolate bool          `flag:"no-isolate" help:"compile in this process, without limits: a driver that crashes or hangs ends or stops the command" excludes:"jobs timeout memory" because:"--no-isolate does without child processes"`
	Jobs      int           `flag:"jobs" help:"child processes side by side" must:"1 to 64" shown:"the number of processors, at most 6"`
	Timeout   time.Duration `flag:"timeout" help:"limit of time for one program" must:"above 0"`
	Memory    cli.ByteSize  `flag:"memory" help:"limit of memory for one program, 0 for none (Linux only)" shown:"a share of the machine's, 512M to 4G"`
}

// defaultIsolation returns the flags of a command that has none of them.
func defaultIsolation() isolationFlags {
	jobs := isolate.DefaultJobs()
	return isolationFlags{Jobs: jobs, Timeout: isolate.DefaultTimeout, Memory: cli.ByteSize(isolate.DefaultMemoryBytes(jobs))}
}

// isolationTimes is when each part of the work ended, in milliseconds since its start.
type isolationTimes struct {
	ReadMillis     float64      `json:"read_ms"`     // the programs were read
	Children       []childStart `json:"children"`    // in the order in which they were ready
	AnsweredMillis float64      `json:"answered_ms"` // the last program was compiled or had failed
	EndedMillis    float64      `json:"ended_ms"`    // all children had ended
	SettledMillis  float64      `json:"settled_ms"`  // programs that children died of were in quarantine
	MergedMillis   float64      `json:"merged_ms"`   // the driver's slots were merged
}

type childStart struct {
	StartedMillis float64 `json:"started_ms"` // since the start of the work, as the others
	ReadyMillis   float64 `json:"ready_ms"`
	ContextMillis float64 `json:"context_ms"` // of which opening the context took
}

func newIsolationTimes(begin, read time.Time, r isolate.Report) *isolationTimes {
	since := func(t time.Time) float64 {
		if t.IsZero() {
			return 0
		}
		return cli.Milliseconds(t.Sub(begin))
	}
	times := &isolationTimes{since(read), []childStart{}, since(r.Answered), since(r.Ended), since(r.Recovered), since(r.Merged)}
	for _, c := range r.Children {
		times.Children = append(times.Children, childStart{since(c.Started), since(c.Ready), cli.Milliseconds(c.Context)})
	}
	return times
}

func (o *options) preloadChildCommand() cli.Command {
	var f struct {
		KeepSources bool `flag:"keep-sources" help:"store the text of each program too"`
		Replay      bool `flag:"replay" help:"replay programs of recordings"`
	}
	return cli.Command{
		Use:     childName + " [flags]",
		Short:   "Compile programs for preload and rebuild",
		Example: "  shadercache preload kernels/",
		Hidden:  true,
		Flags:   &f,
		Run: func(*cobra.Command, []string) (cli.Result, error) {
			if f.Replay {
				return nil, replay.Serve(o.ContextOptions())
			}
			return nil, o.serveChild(f.KeepSources)
		},
	}
}

// serveChild answers the requests of a parent.
func (o *options) serveChild(keepSources bool) error {
	return isolate.Child{
		Open: func() (isolate.Opened, error) {
			how := preloadFlags{KeepSources: keepSources}
			options := how.cacheOptions()
			options.InTrial = true // it is a child for that already
			o.DriverCache = o.DriverCache && !cli.OnOff(isolate.HasOtherDriverCache())
			g, err := o.OpenGPU(options)
			if err != nil {
				return isolate.Opened{}, err
			}
			return isolate.Opened{Cache: g.Cache, ContextTime: g.ContextTime, Close: g.Close}, nil
		},
		Hint: func(err error) string {
			if errors.Is(err, isolate.ErrMemoryOnly) {
				return "shadercache doctor"
			}
			return cli.HintFor(err)
		},
	}.Serve()
}
