package wire

import "fmt"

// Code is the kind of an error.
type Code uint16

// The codes.
const (
	CodeMalformed   Code = iota + 1 // the message is not one of the protocol; the session ends
	CodeVersion                     // no common version; the session ends
	CodeQuota                       // a limit of the session or of the server is reached
	CodeDeadline                    // the deadline passed before the request was done
	CodeCancelled                   // a cancel request ended it
	CodeNotFound                    // no object with this id or name
	CodeExists                      // the id is in use, or a named object is of another size
	CodeInvalid                     // the request does not fit its objects or the device
	CodeCompile                     // the driver does not compile the program; the message is its log
	CodeOutOfMemory                 // the device or the server has no memory left
	CodeConflict                    // the buffer has another version than expected
	CodeLost                        // the worker ends: its context was lost or a kernel did not end; the session ends
	CodeDraining                    // the server shuts down and accepts nothing new
	CodeInternal                    // a fault of the server or the driver
	CodeOtherDevice                 // the named buffer is on another device of the server
)

var codeNames = [...]string{
	CodeMalformed: "malformed", CodeVersion: "version", CodeQuota: "quota", CodeDeadline: "deadline",
	CodeCancelled: "cancelled", CodeNotFound: "not found", CodeExists: "exists", CodeInvalid: "invalid",
	CodeCompile: "compile", CodeOutOfMemory: "out of memory", CodeConflict: "conflict", CodeLost: "lost",
	CodeDraining: "draining", CodeInternal: "internal", CodeOtherDevice: "other device",
}

// String returns the name of the code, as docs/protocol.md has it.
func (c Code) String() string {
	if c == 0 || int(c) >= len(codeNames) {
		return fmt.Sprintf("code %d", uint16(c))
	}
	return codeNames[c]
}

// Error is the reply to a request that failed. Its layout is the same in all versions of
// the protocol.
type Error struct {
	Code    Code
	Message string
	Hint    string // what to do about it; may be empty
}

// Error returns the message.
func (m *Error) Error() string { return m.Message }

// maxErrorText is the most bytes of a message or a hint: compilers write long logs.
const maxErrorText = 256 << 10

func (m *Error) layout(f *fields) {
	if half(f, &m.Code); m.Code == 0 {
		f.fail("an error without a code")
	}
	for _, text := range [...]*string{&m.Message, &m.Hint} {
		if f.writes { // longer ones are cut
			cut := (*text)[:min(len(*text), maxErrorText)]
			text = &cut
		}
		if blob(f, text); len(*text) > maxErrorText {
			f.fail("an error with a text of more than %d bytes", maxErrorText)
		}
	}
}
