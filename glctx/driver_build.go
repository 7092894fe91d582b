//go:build linux && cgo

package glctx

/*
#include "driver_build.h"
*/
import "C"

import (
	"encoding/hex"
	"slices"
	"strings"
)

// driverBuild returns the ELF build id of the driver of a context with that GL_VERSION, or
// "" where it is not known. Mesa alone needs one: it refuses binaries of another build of
// itself, and two builds of one version have the same GL_VERSION, and on llvmpipe the
// same UUID. Other drivers of Mesa that are loaded come from the same build; where they do
// not, all of them count, since the library of a context is not known.
func driverBuild(version string) string {
	if !strings.Contains(version, "Mesa") {
		return ""
	}
	var builds [C.SC_BUILDS]C.struct_sc_build
	var ids []string
	for _, b := range builds[:C.sc_mesa_builds(&builds[0])] {
		ids = append(ids, hex.EncodeToString(bytesOf(b.id[:b.bytes])))
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), " ")
}
