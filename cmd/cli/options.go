package cli

import (
	"fmt"
	"io"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/trace"
)

// Options holds the global flags, the streams, and the types of results.
type Options struct {
	JSON        bool
	Dir         string
	Device      string
	API         ContextKind
	DriverCache OnOff
	LogLevel    LogLevel
	NoRemote    bool   // the remote of the environment is not used
	Trace       string // file for a trace of the command, "" for none

	NoCompilerThreads bool // of the context of a command that waits most of its time

	Stdout, Stderr io.Writer

	trace   *trace.File // nil: no trace is written
	command trace.Region

	// Results are what commands print with --json, see WithResult.
	Results      []JSONResult
	helpComplete bool // see CompleteHelp
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
