package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/fleet/pack"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/shader"
)

// messageSchema is the number of the form of JSONMessage. A field that is added does not
// change it.
const messageSchema = 1

// JSONMessage is a line on standard error with --json: an error or a warning.
type JSONMessage struct {
	Schema  int    `json:"schema"`         // of this object: 1
	Level   string `json:"level"`          // error, warning, info or debug
	Code    string `json:"code,omitempty"` // of an error, see the list of codes; it does not change
	Message string `json:"message"`        // what failed, for people
	Hint    string `json:"hint,omitempty"` // what the user can do about it
	Log     string `json:"log,omitempty"`  // the driver's log and lines of the source that it names
}

// ErrorCode is the stable name of a kind of error.
type ErrorCode struct{ Code, Meaning string }

// errorKind is a kind of errors, and what the user can do about one.
type errorKind struct {
	has func(error) bool
	ErrorCode
	hint string
}

// exits returns whether an error has an exit code of its own.
func exits(code int) func(error) bool {
	return func(err error) bool {
		exit, ok := errors.AsType[exitError](err)
		return ok && exit.code == code
	}
}

// is returns whether an error is target, and isA whether it has a type.
func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

// The kinds of errors, the most special first. Those of packs are more special than those of
// remotes, whose hints say more.
var (
	execKinds = []errorKind{
		{exits(ExitNotFound), ErrorCode{"program_not_found", "exec found no such program: exit code 127"}, ""},
		{exits(ExitCannotExecute), ErrorCode{"cannot_execute", "exec cannot execute the program: exit code 126"}, ""},
	}
	localKinds = []errorKind{
		{is(context.Canceled), ErrorCode{"interrupted", "a signal ended the command"}, ""},
		{is(glctx.ErrNoDevice), ErrorCode{"no_device", "there is no GPU with the index or UUID of --device"},
			"without --device the first GPU that works is used"},
		{is(glctx.ErrNoDriver), ErrorCode{"no_driver", "no OpenGL driver was found"},
			"on Debian: sudo apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri"},
		{is(glctx.ErrTooOld), ErrorCode{"driver_too_old", "the driver lacks OpenGL 4.5, or the version of --api"},
			"update the GPU's driver, try --device with the index of another GPU, or --api gles3.1"},
		{is(glctx.ErrKind), ErrorCode{"no_such_context", "the driver has no context of the kind of --api"},
			"without --api the context is OpenGL 4.5, core profile"},
		{is(glctx.ErrNeeds45), ErrorCode{"needs_opengl_45", "the command needs OpenGL 4.5, and --api is another"},
			"without --api the context is OpenGL 4.5; preload, rebuild and doctor work with others"},
		{is(binary.ErrUnsafeDir), ErrorCode{"unsafe_directory", "others could change the cache directory, or it is none"},
			"choose a directory of your own with --dir or $SHADERCACHE_DIR"},
		{is(binary.ErrNoDir), ErrorCode{"no_directory", "no cache directory is chosen"},
			"choose a directory with --dir or $SHADERCACHE_DIR"},
	}
	packKinds = []errorKind{
		{is(pack.ErrTooLarge), ErrorCode{"bundle_too_large", "a bundle unpacks to more than --max-bytes"}, "--max-bytes sets the limit"},
		{is(pack.ErrNewer), ErrorCode{"bundle_newer", "a later version of shadercache wrote the bundle"},
			"update shadercache, or export the file with this version"},
		{is(pack.ErrRefused), ErrorCode{"bundle_refused", "a bundle is damaged or has foreign content"}, "copy the file again, or export it again"},
		{is(pack.ErrUnsigned), ErrorCode{"bundle_unsigned", "a bundle has no signature"}, signedHint},
		{is(pack.ErrSignature), ErrorCode{"wrong_signature", "a bundle is not signed with the given key"}, signedHint},
		{is(pack.ErrEmpty), ErrorCode{"nothing_to_export", "the cache has nothing to export"}, ""},
		{is(pack.ErrBusy), ErrorCode{"import_busy", "another import runs"}, "try again when the other import has ended"},
	}
	remoteKinds = []errorKind{
		{is(fleet.ErrNoBackend), ErrorCode{"remote_scheme", "no such URL of a remote is known"}, ""},
		{is(fleet.ErrNotFound), ErrorCode{"remote_not_found", "a remote has nothing for the driver, or does not exist"}, ""},
		{is(fleet.ErrDenied), ErrorCode{"remote_denied", "a remote refuses the credentials, or wants some"},
			"give the credentials that this store takes: docs/remotes.md has where they come from"},
		{is(fleet.ErrBusy), ErrorCode{"remote_busy", "a remote asks its clients to wait"}, "try again later: the store has too many requests"},
		{is(fleet.ErrUnreachable), ErrorCode{"remote_unreachable", "a remote does not answer"},
			"check the URL and the network: shadercache remote status"},
		{is(fleet.ErrProtocol), ErrorCode{"remote_protocol", "what answers is no remote"},
			"check the URL, and whether a proxy or a login page answers in place of the store"},
		{is(fleet.ErrChanged), ErrorCode{"remote_changed", "other machines changed the remote again and again"},
			"other machines push at the same time: try again"},
		{is(fleet.ErrRefused), ErrorCode{"remote_refused", "a remote's content is not signed by a known key, too old, damaged or for another driver"},
			"check --verify and $SHADERCACHE_REMOTE_KEYS, or push again, with --replace where a pack is damaged. Where its driver is gone, remote prune --trust deletes it; what is no head at all is to be deleted in the store"},
	}
	gpuKinds = []errorKind{
		{is(shader.ErrOutOfMemory), ErrorCode{"out_of_memory", "the GPU is out of memory"},
			"another program may be using the GPU's memory: see --device"},
		{is(shader.ErrContextLost), ErrorCode{"context_lost", "the GPU was reset"}, ""},
	}
	otherKinds = []errorKind{
		{isA[UsageError], ErrorCode{"usage", "the command line is wrong: exit code 2"}, ""},
		{isA[*shader.CompileError], ErrorCode{"compile_failed", "the driver does not compile a source: log has the reason"}, ""},
		{isA[*binary.Quarantined], ErrorCode{"quarantined", "a program is in quarantine"}, ""},
		{func(error) bool { return true }, ErrorCode{"failed", "any other error"}, ""},
	}
)

const signedHint = "get a file that is signed with this key, see shadercache keygen --help"

// errorKinds returns all kinds. Each error is of one.
func errorKinds() []errorKind {
	return slices.Concat(execKinds, localKinds, packKinds, remoteKinds, gpuKinds, otherKinds)
}

// ErrorCodes lists all codes, for documentation.
func ErrorCodes() (codes []ErrorCode) {
	for _, kind := range errorKinds() {
		codes = append(codes, kind.ErrorCode)
	}
	return codes
}

// codeOf returns the code of an error.
func codeOf(err error) string {
	all := errorKinds()
	return all[slices.IndexFunc(all, func(kind errorKind) bool { return kind.has(err) })].Code
}

func newJSONError(err error) JSONMessage {
	m := JSONMessage{Schema: messageSchema, Level: "error", Code: codeOf(err), Message: err.Error(), Hint: HintFor(err)}
	if errors.Is(err, context.Canceled) {
		m.Message = "interrupted"
	}
	if refused, ok := errors.AsType[*shader.CompileError](err); ok {
		m.Log = cut(refused, "", maxJSONLog, maxJSONLog).Detail()
	}
	return m
}

// maxJSONLog bounds the driver's log in a JSONMessage, in bytes and in lines: that of a child
// process is as long.
const maxJSONLog = 64 << 10

// printMessage writes m on a line.
func printMessage(w io.Writer, m JSONMessage) {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // for people who read it all the same
	_ = encoder.Encode(m)
}
