package binary

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"strings"
)

// Digest is a SHA-256 sum.
type Digest [sha256.Size]byte

func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// Short is the first eight hexadecimal digits, for people.
func (d Digest) Short() string { return hex.EncodeToString(d[:4]) }

// MarshalText writes the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads 64 hexadecimal digits.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("binary: digest has %d digits, not %d", len(text), hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

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
func (f Fingerprint) Digest() Digest {
	h := fields{sha256.New()}
	h.number(fingerprintSchema)
	h.text(f.Vendor)
	h.text(f.Renderer)
	h.text(f.Version)
	h.text(f.GLSL)
	h.text(f.DriverUUID)
	h.number(uint64(f.Profile))
	h.number(uint64(f.Flags))
	h.number(uint64(len(f.Formats)))
	for _, format := range f.Formats {
		h.number(uint64(format))
	}
	h.number(uint64(f.PointerBits))
	return Digest(h.Sum(nil))
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

// fields hashes values so that no two sequences of values give the same bytes:
// every text is preceded by its length, every number has eight bytes.
type fields struct{ hash.Hash }

func (f fields) number(v uint64) {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	f.Write(b[:])
}

func (f fields) text(s string) {
	f.number(uint64(len(s)))
	f.Write([]byte(s))
}
