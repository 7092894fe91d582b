package bundle

import (
	"strings"

	"github.com/shadercache/shadercache/binary"
)

// Trust is the reason for which an import takes native code from a bundle.
//
// A bundle is executable code: the driver runs the machine code in it without a check,
// with the rights of the process, and a sum proves only that a file is as its sender
// wrote it. Without a reason an import takes the rest:
//
//	sources, tunings             always
//	program binaries of Mesa     always: the driver compiles them
//	other program binaries       with a reason
//	driver files                 with a reason
type Trust string

// The reasons.
const (
	TrustSignature Trust = "signature" // the bundle was signed with VerifyKey
	TrustCaller    Trust = "caller"    // ImportOptions.Trust was set
	TrustNone      Trust = "none"
)

// binariesAreCode reports whether the program binaries of a driver may hold machine code.
// Mesa's hold its intermediate code, except those of its classic drivers, which ended
// with version 21 and name themselves "Mesa DRI".
func binariesAreCode(f binary.Fingerprint) bool {
	return !strings.Contains(f.Version, "Mesa") || strings.HasPrefix(f.Renderer, "Mesa DRI")
}

// isDriverFile reports whether a file is one that the driver made for itself.
func (f File) isDriverFile() bool { return f.Kind == NVIDIA || f.Kind == Mesa }
