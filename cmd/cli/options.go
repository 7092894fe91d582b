package cli

import (
	"fmt"
	"io"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/trace"
)

// Options holds the global flags, the streams, and the types of results.
type Options struct {
	JSON        bool        `flag:"json" help:"print the result as JSON"`
	Dir         string      `flag:"dir" help:"cache directory (default $SHADERCACHE_DIR or the user's cache)" files:"/"`
	Device      string      `flag:"device" help:"GPU by index or UUID (default the first that works); most commands take several, with commas, and all"`
	API         ContextKind `flag:"api" help:"context: gl or gles, version, flags: gles3.1, gl4.3,robust (default gl)" words:"gl gles gles3.1 gl4.3 gl4.5,compatibility"`
	DriverCache OnOff       `flag:"driver-cache" help:"on: keep the driver's own cache in the cache directory too; off: leave it alone" words:"on off"`
	LogLevel    LogLevel    `flag:"log-level" help:"debug, info, warn or error" words:"debug info warn error"`
	Trace       string      `flag:"trace" help:"file for a trace of where the time goes, for Perfetto, speedscope or report (default $SHADERCACHE_TRACE; %p is the process id)"`

	NoRemote bool // the remote of the environment is not used

	NoCompilerThreads bool // of the context of a command that waits most of its time

	Stdout, Stderr io.Writer

	trace   *trace.File // nil: no trace is written
	command trace.Region

	// Results are what commands print with --json.
	Results   []JSONResult
	placeSaid bool // see WarnOfPlace
}

// ContextKind is a flag with the kind of context that a command opens.
type ContextKind struct{ glctx.Kind }

func (v *ContextKind) Type() string { return "KIND" }

func (v *ContextKind) String() string {
	text, _ := v.MarshalText()
	return string(text)
}

func (v *ContextKind) Set(text string) error { return v.UnmarshalText([]byte(text)) }

// OnOff is a flag whose values are on and off.
type OnOff bool

func (v *OnOff) Type() string { return "on|off" }

func (v *OnOff) String() string {
	if *v {
		return "on"
	}
	return "off"
}

func (v *OnOff) Set(text string) error {
	switch text {
	case "on":
		*v = true
	case "off":
		*v = false
	default:
		return fmt.Errorf("%q is neither on nor off", text)
	}
	return nil
}
