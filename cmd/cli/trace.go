package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/trace"
)

// startTrace begins the trace of a command, where --trace or the environment asks for one.
func (o *Options) startTrace(cmd *cobra.Command) {
	if o.Trace != "" {
		os.Setenv(trace.Variable, o.Trace)
	}
	if file := trace.FromEnvironment(); file != nil {
		trace.BeginMain(file)
		o.trace, o.command = file, trace.Begin(file, trace.Process, 0, trace.Command)
		o.command.About(cmd.CommandPath(), "")
	}
}

// BeginTrace begins a phase of the command in its trace.
func (o *Options) BeginTrace(phase string) trace.Region {
	return trace.Begin(o.Tracer(), trace.Process, 0, phase)
}

// EndTrace writes the trace of a command. A failure is a message.
func (o *Options) EndTrace() {
	if o.trace == nil {
		return
	}
	o.command.End()
	if err := o.trace.Write(); err != nil {
		o.Logger().Warn("the trace was not written", "error", err)
	}
}

// HandTrace returns the arguments with which a child process writes the trace of the command
// in place of this process: none where it has no trace.
func (o *Options) HandTrace() []string {
	if o.trace == nil {
		return nil
	}
	path := o.trace.Path()
	o.trace = nil
	return []string{"--trace", path}
}

// Tracer returns the tracer of the command, or nil.
func (o *Options) Tracer() trace.Tracer {
	if o.trace == nil {
		return nil
	}
	return o.trace
}
