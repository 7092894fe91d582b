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

// errorKind is an error that errors.Is distinguishes, and what the user can do about it.
type errorKind struct {
	err error
	ErrorCode
	hint string
}

// The kinds of errors, the most special first. Those of packs are more special than those of
// remotes, whose hints say more.
var (
	localKinds = []errorKind{
		{context.Canceled, ErrorCode{"interrupted", "a signal ended the command"}, ""},
		{glctx.ErrNoDevice, ErrorCode{"no_device", "there is no GPU with the index or UUID of --device"},
			"without --device the first GPU that works is used"},
		{glctx.ErrNoDriver, ErrorCode{"no_driver", "no OpenGL driver was found"},
			"on Debian: sudo apt-get install libegl1 libegl-mesa0 libgl1-mesa-dri"},
		{glctx.ErrTooOld, ErrorCode{"driver_too_old", "the driver lacks OpenGL 4.5, or the version of --api"},
			"update the GPU's driver, try --device with the index of another GPU, or --api gles3.1"},
		{glctx.ErrKind, ErrorCode{"no_such_context", "the driver has no context of the kind of --api"},
			"without --api the context is OpenGL 4.5, core profile"},
		{glctx.ErrNeeds45, ErrorCode{"needs_opengl_45", "the command needs OpenGL 4.5, and --api is another"},
			"without --api the context is OpenGL 4.5; preload, rebuild and doctor work with others"},
		{binary.ErrUnsafeDir, ErrorCode{"unsafe_directory", "others could change the cache directory, or it is none"},
			"choose a directory of your own with --dir or $SHADERCACHE_DIR"},
		{binary.ErrNoDir, ErrorCode{"no_directory", "no cache directory is chosen"},
			"choose a directory with --dir or $SHADERCACHE_DIR"},
	}
	packKinds = []errorKind{
		{pack.ErrTooLarge, ErrorCode{"bundle_too_large", "a bundle unpacks to more than --max-bytes"}, "--max-bytes sets the limit"},
		{pack.ErrNewer, ErrorCode{"bundle_newer", "a later version of shadercache wrote the bundle"},
			"update shadercache, or export the file with this version"},
		{pack.ErrRefused, ErrorCode{"bundle_refused", "a bundle is damaged or has foreign content"}, "copy the file again, or export it again"},
		{pack.ErrUnsigned, ErrorCode{"bundle_unsigned", "a bundle has no signature"}, signedHint},
		{pack.ErrSignature, ErrorCode{"wrong_signature", "a bundle is not signed with the given key"}, signedHint},
		{pack.ErrEmpty, ErrorCode{"nothing_to_export", "the cache has nothing to export"}, ""},
		{pack.ErrBusy, ErrorCode{"import_busy", "another import runs"}, "try again when the other import has ended"},
	}
	remoteKinds = []errorKind{
		{fleet.ErrNoBackend, ErrorCode{"remote_scheme", "no such URL of a remote is known"}, ""},
		{fleet.ErrNotFound, ErrorCode{"remote_not_found", "a remote has nothing for the driver, or does not exist"}, ""},
		{fleet.ErrDenied, ErrorCode{"remote_denied", "a remote refuses the credentials, or wants some"},
			"give the credentials that this store takes: docs/remotes.md has where they come from"},
		{fleet.ErrBusy, ErrorCode{"remote_busy", "a remote asks its clients to wait"}, "try again later: the store has too many requests"},
		{fleet.ErrUnreachable, ErrorCode{"remote_unreachable", "a remote does not answer"},
			"check the URL and the network: shadercache remote status"},
		{fleet.ErrProtocol, ErrorCode{"remote_protocol", "what answers is no remote"},
			"check the URL, and whether a proxy or a login page answers in place of the store"},
		{fleet.ErrChanged, ErrorCode{"remote_changed", "other machines changed the remote again and again"},
			"other machines push at the same time: try again"},
		{fleet.ErrRefused, ErrorCode{"remote_refused", "a remote's content is not signed by a known key, too old, damaged or for another driver"},
			"check --verify and $SHADERCACHE_REMOTE_KEYS, or push again, with --replace where a pack is damaged. Where its driver is gone, remote prune --trust deletes it; what is no head at all is to be deleted in the store"},
	}
	gpuKinds = []errorKind{
		{shader.ErrOutOfMemory, ErrorCode{"out_of_memory", "the GPU is out of memory"},
			"another program may be using the GPU's memory: see --device"},
		{shader.ErrContextLost, ErrorCode{"context_lost", "the GPU was reset"}, ""},
	}
)

const signedHint = "get a file that is signed with this key, see shadercache keygen --help"

// errorKinds returns all kinds.
func errorKinds() []errorKind { return slices.Concat(localKinds, packKinds, remoteKinds, gpuKinds) }

// Codes of errors that have a type, and of the others.
var (
	codeUsage         = ErrorCode{"usage", "the command line is wrong: exit code 2"}
	codeCompile       = ErrorCode{"compile_failed", "the driver does not compile a source: log has the reason"}
	codeQuarantined   = ErrorCode{"quarantined", "a program is in quarantine"}
	codeNotFound      = ErrorCode{"program_not_found", "exec found no such program: exit code 127"}
	codeCannotExecute = ErrorCode{"cannot_execute", "exec cannot execute the program: exit code 126"}
	codeFailed        = ErrorCode{"failed", "any other error"}
)

// ErrorCodes lists all codes, for documentation.
func ErrorCodes() []ErrorCode {
	codes := []ErrorCode{codeUsage}
	for _, kind := range errorKinds() {
		codes = append(codes, kind.ErrorCode)
	}
	return append(codes, codeCompile, codeQuarantined, codeNotFound, codeCannotExecute, codeFailed)
}

// codeOf returns the code of an error.
func codeOf(err error) string {
	if exit, ok := errors.AsType[exitError](err); ok {
		if exit.code == ExitNotFound {
			return codeNotFound.Code
		}
		return codeCannotExecute.Code
	}
	for _, kind := range errorKinds() {
		if errors.Is(err, kind.err) {
			return kind.Code
		}
	}
	switch {
	case errors.As(err, new(UsageError)):
		return codeUsage.Code
	case errors.As(err, new(*shader.CompileError)):
		return codeCompile.Code
	case errors.As(err, new(*binary.Quarantined)):
		return codeQuarantined.Code
	}
	return codeFailed.Code
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
