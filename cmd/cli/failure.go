package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Exit codes, documented in the help of the root command.
const (
	ExitGood   = 0
	ExitFailed = 1
	ExitUsage  = 2

	// Of exec, as a shell has them.
	ExitCannotExecute = 126
	ExitNotFound      = 127
)

// UsageError is an error in the command line.
type UsageError struct {
	Err     error
	Command string // its --help is the hint
}

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Usage returns err as an error in the command line of cmd.
func Usage(cmd *cobra.Command, err error) error { return UsageError{err, cmd.CommandPath()} }

// hintedError is an error with what the user can do about it.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Unwrap() error { return e.error }

// Hint returns err with what the user can do about it.
func Hint(err error, text string) error { return hintedError{err, text} }

// exitError is an error with an exit code of its own.
type exitError struct {
	error
	code int
}

func (e exitError) Unwrap() error { return e.error }

// Exit returns err with the exit code of the process.
func Exit(err error, code int) error { return exitError{err, code} }

// several are failures that are reported one by one.
type several []error

func (s several) Error() string   { return errors.Join(s...).Error() }
func (s several) Unwrap() []error { return s }

// Several returns an error for failures that are reported one by one, nil where there is none.
func Several(failures []error) error {
	if len(failures) == 0 {
		return nil
	}
	return several(failures)
}

// ErrReported is returned by a command that has printed its failures.
var ErrReported = errors.New("failures were reported")

// Report prints a failure with its hint and returns the exit code.
func (o *Options) Report(err error) int {
	if err == nil {
		return ExitGood
	}
	if !errors.Is(err, ErrReported) {
		o.PrintError(err)
	}
	if exit, ok := errors.AsType[exitError](err); ok {
		return exit.code
	}
	if errors.As(err, new(UsageError)) {
		return ExitUsage
	}
	return ExitFailed
}

// PrintError prints one failure to standard error, with --json as a JSONMessage. For a
// shader that does not compile it prints the beginning of the driver's log and the lines
// that it names.
func (o *Options) PrintError(err error) {
	if all, ok := err.(several); ok {
		for _, err := range all {
			o.PrintError(err)
		}
		return
	}
	o.PrintFailure(err, "")
}

// PrintFailure is PrintError with the command that prints the whole log of a driver, ""
// for none.
func (o *Options) PrintFailure(err error, whole string) {
	if o.JSON {
		printMessage(o.Stderr, newJSONError(err))
		return
	}
	printFailure(o.Stderr, err, whole)
}

func printFailure(w io.Writer, err error, whole string) {
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "shadercache: interrupted")
		return
	}
	fmt.Fprintf(w, "shadercache: %s\n", escapeMessage(err.Error()))
	if refused, ok := errors.AsType[*shader.CompileError](err); ok {
		fmt.Fprint(w, EscapeText(cut(refused, whole, maxLogLines, maxLogBytes).Detail()))
	}
	if hint := HintFor(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", escapeMessage(hint))
	}
}

// The part of a driver's log that is printed. Drivers write megabytes for one mistake.
const (
	maxLogLines = 20
	maxLogBytes = 4 << 10
)

// cut returns a compile error with the beginning of its log, and with the command that
// prints the whole, "" for none.
func cut(e *shader.CompileError, whole string, maxLines, maxBytes int) *shader.CompileError {
	log := strings.TrimSpace(e.Log)
	lines := strings.SplitAfterN(log[:min(len(log), maxBytes)], "\n", maxLines+1)
	short := strings.Join(lines[:min(len(lines), maxLines)], "")
	if len(short) == len(log) {
		return e
	}
	more := "\n... the log is longer"
	if whole != "" {
		more += ", see: " + whole
	}
	return &shader.CompileError{Name: e.Name, Log: strings.ToValidUTF8(strings.TrimSpace(short), "?") + more, Source: e.Source}
}

// HintFor returns what the user can do about an error, or "".
func HintFor(err error) string {
	var hinted hintedError
	var usage UsageError
	switch {
	case errors.As(err, new(*shader.IncludeError)) && errors.Is(err, fs.ErrNotExist):
		return "name the folder that has the file with -I DIR"
	case errors.As(err, &hinted):
		return hinted.hint
	case errors.As(err, &usage):
		return usage.Command + " --help"
	}
	for _, kind := range hintKinds() {
		if kind.hint != "" && kind.has(err) {
			return kind.hint
		}
	}
	return ""
}

// hintKinds returns the kinds of errors in the order of their hints: those of remotes say more
// than those of packs. Some are of no code.
func hintKinds() []errorKind {
	schemes := strings.Join(fleet.Schemes(), ", ")
	return slices.Concat(localKinds, []errorKind{
		{has: osfile.IsNoSpace, hint: "make space on the volume, or name another place"},
		{has: is(fleet.ErrNoBackend), hint: "the URL of a remote begins with one of " + schemes + "; a folder is file:///PATH"},
	}, remoteKinds, []errorKind{
		{has: is(errors.ErrUnsupported), hint: "this store cannot do that, such as to list what it has: see docs/remotes.md"},
	}, packKinds, gpuKinds)
}
