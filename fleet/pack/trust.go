package pack

import (
	"strings"

	"github.com/shadercache/shadercache/binary"
)

// Trust is the reason for which native code is imported from a bundle.
//
// A bundle is executable code: the driver executes the machine code in it without a
// check, with the rights of the process, and a checksum does not prove the origin of a
// file. Without a reason only the other files are imported:
//
//	sources, tunings             always
//	program binaries of Mesa     always: the driver compiles them
//	other program binaries       with a reason
//	driver files                 with a reason
type Trust string

// The reasons.
const (
	TrustSignature Trust = "signature" // the bundle was signed with VerifyKey
	TrustDigest    Trust = "digest"    // the bundle has the digest of ImportOptions.Expect
	TrustCaller    Trust = "caller"    // ImportOptions.Trust was set
	TrustNone      Trust = "none"
)

// binariesAreCode reports whether the program binaries of a driver may hold machine code.
// Mesa's have its intermediate code, except those of its classic drivers, which ended
// with version 21 and have "Mesa DRI" in the renderer's name.
func binariesAreCode(f binary.Fingerprint) bool {
	return !strings.Contains(f.Version, "Mesa") || strings.HasPrefix(f.Renderer, "Mesa DRI")
}

// isDriverFile reports whether a file is one of the driver's own cache.
func (f File) isDriverFile() bool { return f.Kind == NVIDIA || f.Kind == Mesa }
