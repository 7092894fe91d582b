package binary

import (
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// fingerprintSchema changes when the fields below or their order change, which
// makes every stored blob a clean miss.
const fingerprintSchema = 1

// Fingerprint says which driver made a binary, as far as that decides whether
// the same binary works again. Two cards of one model share a fingerprint; a
// new driver build has another.
//
//	field       from                                    why
//	Vendor      GL_VENDOR
//	Renderer    GL_RENDERER                             the GPU model; for llvmpipe also LLVM and vector width
//	Version     GL_VERSION                              carries the driver build
//	GLSL        GL_SHADING_LANGUAGE_VERSION
//	DriverUUID  GL_DRIVER_UUID_EXT, else ""             changes with the driver build
//	Profile     GL_CONTEXT_PROFILE_MASK                 code differs by profile
//	Flags       GL_CONTEXT_FLAGS                        debug and robust contexts generate other code
//	Formats     GL_PROGRAM_BINARY_FORMATS, sorted       what the driver can read
//	PointerBits size of a pointer of this process       32- and 64-bit drivers do not mix
type Fingerprint struct {
	Vendor      string   `json:"vendor"`
	Renderer    string   `json:"renderer"`
	Version     string   `json:"version"`
	GLSL        string   `json:"glsl"`
	DriverUUID  string   `json:"driver_uuid,omitempty"`
	Profile     uint32   `json:"profile"`
	Flags       uint32   `json:"flags"`
	Formats     []uint32 `json:"formats"`
	PointerBits int      `json:"pointer_bits"`
}

// Digest identifies the fingerprint: equality of drivers is equality of digests.
func (f Fingerprint) Digest() shader.Digest {
	h := shader.NewFieldHash()
	h.Number(fingerprintSchema)
	h.Text(f.Vendor)
	h.Text(f.Renderer)
	h.Text(f.Version)
	h.Text(f.GLSL)
	h.Text(f.DriverUUID)
	h.Number(uint64(f.Profile))
	h.Number(uint64(f.Flags))
	h.Number(uint64(len(f.Formats)))
	for _, format := range f.Formats {
		h.Number(uint64(format))
	}
	h.Number(uint64(f.PointerBits))
	return h.Digest()
}

// Label is a name for people, such as NVIDIA_H200 or llvmpipe. It does not
// identify anything.
func (f Fingerprint) Label() string {
	name := f.Renderer
	if i := strings.IndexAny(name, "(/"); i > 0 {
		name = name[:i]
	}
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-':
			return r
		}
		return '_'
	}, strings.TrimSpace(name))
	clean = strings.Trim(clean, "._-")
	if clean == "" {
		return "unknown"
	}
	return clean[:min(len(clean), 48)]
}

// DirName is the directory of this fingerprint below the cache directory.
func (f Fingerprint) DirName() string { return f.Label() + "-" + f.Digest().Short() }
