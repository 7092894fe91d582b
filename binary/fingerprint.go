package binary

import (
	"strings"

	"github.com/shadercache/shadercache/shader"
)

// fingerprintSchema changes with the fields below or their order. A change makes every
// stored blob a miss.
const fingerprintSchema = 1

// Fingerprint identifies the driver that made a binary, by what decides whether the
// binary loads again. Two cards of one model have the same fingerprint; a new driver
// build has another one.
//
//	field       from                                    why
//	Vendor      GL_VENDOR
//	Renderer    GL_RENDERER, less the kernel's version   the GPU model; LLVM where the driver uses it; for llvmpipe the vector width
//	Version     GL_VERSION                              carries the driver version
//	GLSL        GL_SHADING_LANGUAGE_VERSION
//	DriverUUID  GL_DRIVER_UUID_EXT, else ""             changes with the driver build, but not on llvmpipe
//	DriverBuild ELF build ids of the driver, for Mesa   two builds of a version refuse each other's binaries;
//	                                                    for zink also those of Mesa's drivers of Vulkan,
//	                                                    for llvmpipe also, last, a hash of the CPUs
//	Profile     GL_CONTEXT_PROFILE_MASK                 code differs by profile
//	Flags       GL_CONTEXT_FLAGS                        debug and robust contexts generate other code
//	Formats     GL_PROGRAM_BINARY_FORMATS, sorted       what the driver can load
//	PointerBits size of a pointer of this process       32- and 64-bit drivers do not mix
type Fingerprint struct {
	Vendor      string   `json:"vendor"`                 // GL_VENDOR
	Renderer    string   `json:"renderer"`               // GL_RENDERER, less what is no part of the driver
	Version     string   `json:"version"`                // GL_VERSION
	GLSL        string   `json:"glsl"`                   // GL_SHADING_LANGUAGE_VERSION
	DriverUUID  string   `json:"driver_uuid,omitempty"`  // GL_DRIVER_UUID_EXT, where the driver has one
	DriverBuild string   `json:"driver_build,omitempty"` // ELF build id of the driver's library, for Mesa
	Profile     uint32   `json:"profile"`                // GL_CONTEXT_PROFILE_MASK
	Flags       uint32   `json:"flags"`                  // GL_CONTEXT_FLAGS
	Formats     []uint32 `json:"formats"`                // program binary formats
	PointerBits int      `json:"pointer_bits"`           // of the process
}

// Digest returns the SHA-256 of all fields. Drivers are equal if their digests are.
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
	if f.DriverBuild != "" { // a later field: without it the digest is the older one
		h.Text(f.DriverBuild)
	}
	return h.Digest()
}

// SameDriver reports whether two fingerprints are of one driver and GPU, for contexts of whatever
// kind: OpenGL ES, a compatibility profile, a debug context; llvmpipe also on other CPUs.
func (f Fingerprint) SameDriver(other Fingerprint) bool {
	build, _, _ := strings.Cut(f.DriverBuild, " ") // before the CPUs
	otherBuild, _, _ := strings.Cut(other.DriverBuild, " ")
	return f.Vendor == other.Vendor && f.Renderer == other.Renderer && build == otherBuild &&
		f.PointerBits == other.PointerBits && driverVersion(f.Version) == driverVersion(other.Version)
}

// driverVersion returns GL_VERSION without the version of OpenGL and the profile.
func driverVersion(version string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(version, "OpenGL ES "), " ")
	if profile, after, found := strings.Cut(rest, " Profile) "); found && strings.HasPrefix(profile, "(") {
		return after
	}
	return rest
}

// Label returns a name for people, such as NVIDIA_H200 or llvmpipe. It is not unique.
func (f Fingerprint) Label() string {
	name := f.gpu()
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

// trademarks are what Intel's names have between their words.
var trademarks = strings.NewReplacer("(R)", "", "(TM)", "", "(tm)", "", "(", "", ")", "")

// gpu returns the name of the GPU. Intel's have what tells them apart in parentheses, and
// zink's is that of the driver below it.
func (f Fingerprint) gpu() string {
	name := f.Renderer
	if intel, found := strings.CutPrefix(name, "Mesa "); found {
		return trademarks.Replace(strings.TrimPrefix(intel, "DRI "))
	}
	prefix := ""
	if below, found := strings.CutPrefix(name, "zink Vulkan "); found {
		prefix = "zink "
		_, name, _ = strings.Cut(below, "(")
	}
	if i := strings.IndexAny(name, "(/"); i > 0 {
		name = name[:i]
	}
	return prefix + name
}

// DirName returns the name of the fingerprint's directory in the cache directory.
func (f Fingerprint) DirName() string { return f.Label() + "-" + f.Digest().Short() }
