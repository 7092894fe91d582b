package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/bundle"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// Exit codes, documented in the help of the root command.
const (
	exitGood   = 0
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command line that makes no sense.
type usageError struct {
	err     error
	command string // whose --help tells more
}

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// hintedError carries what the user can do about it.
type hintedError struct {
	error
	hint string
}

func (e hintedError) Unwrap() error { return e.error }

// errReported ends a command whose failures were printed one by one.
var errReported = errors.New("failures were reported")

// report prints a failure with its hint and returns the exit code.
func report(w io.Writer, err error) int {
	if err == nil {
		return exitGood
	}
	if !errors.Is(err, errReported) {
		printError(w, err)
	}
	if errors.As(err, new(usageError)) {
		return exitUsage
	}
	return exitFailed
}

// printError prints one failure. A shader that does not compile comes with the
// driver's log and the lines that it names.
func printError(w io.Writer, err error) {
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(w, "shadercache: interrupted")
		return
	}
	fmt.Fprintf(w, "shadercache: %s\n", plain(err.Error()))
	if refused, ok := errors.AsType[*shader.CompileError](err); ok {
		fmt.Fprint(w, plain(refused.Detail()))
	}
	if hint := hintFor(err); hint != "" {
		fmt.Fprintf(w, "hint: %s\n", hint)
	}
}

// hintFor says what the user can do about an error, or "".
func hintFor(err error) string {
	var hinted hintedError
	var usage usageError
	switch {
	case errors.As(err, &hinted):
		return hinted.hint
	case errors.As(err, &usage):
		return usage.command + " --help"
	case errors.Is(err, glctx.ErrNoDevice):
		return "without --device the first GPU that works is taken"
	case errors.Is(err, glctx.ErrNoDriver):
		return "on Debian: sudo apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri"
	case errors.Is(err, glctx.ErrTooOld):
		return "update the GPU's driver, or try --device with the index of another GPU"
	case errors.Is(err, binary.ErrUnsafeDir):
		return "name a directory of your own with --dir or $SHADERCACHE_DIR"
	case errors.Is(err, binary.ErrNoDir):
		return "name a directory with --dir or $SHADERCACHE_DIR"
	case errors.Is(err, binary.ErrBusy):
		return "another process is writing: try again in a moment"
	case errors.Is(err, bundle.ErrRefused):
		return "copy the file again, or export it again"
	case errors.Is(err, bundle.ErrUnsigned), errors.Is(err, bundle.ErrSignature):
		return "ask who exported it for a file signed with this key, see shadercache keygen --help"
	case errors.Is(err, bundle.ErrBusy):
		return "try again when the other import has ended"
	case errors.Is(err, shader.ErrOutOfMemory):
		return "another program may be using the GPU's memory: see --device"
	}
	return ""
}
