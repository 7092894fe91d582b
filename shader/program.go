package shader

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
)

// Program describes a program object that a device has linked and primed. The
// device that made it owns the object until its Delete is called.
type Program struct {
	ID           uint32    // GL program name
	Interface    Interface // as the driver reports it after the link or load
	Bytes        int       // GL_PROGRAM_BINARY_LENGTH, a proxy: GL reports no size in memory
	CompileNanos int64     // compile and link; 0 when loaded
	LoadNanos    int64     // glProgramBinary and its checks; 0 when compiled in the context
	PrimeNanos   int64     // the zero-group dispatch that completes the driver's compilation

	// MachineCode returns the names of the entries of the driver's own cache that the
	// program uses, as far as they are known by now, and reports whether the driver made
	// machine code for it because that cache had none. nil where it is not known.
	MachineCode func() (entries []string, made bool)
}

// Interface lists the inputs and outputs of a program. A program that was loaded
// from a binary must have the same interface as the one that was compiled.
type Interface struct {
	WorkGroup [3]uint32
	Resources []Resource // sorted by kind, then name
}

// ResourceKind is the kind of a [Resource].
type ResourceKind uint8

// The kinds of resource that a compute program has.
const (
	StorageBuffer ResourceKind = iota + 1
	UniformBuffer
	AtomicCounter
	Uniform // a uniform outside any block: images and samplers too
)

// Resource is one active input or output of a program.
type Resource struct {
	Kind    ResourceKind
	Name    string
	Binding int32 // binding point of a buffer; location of a uniform
	Bytes   int32 // smallest legal buffer; for a Uniform its array length

	// Of a StorageBuffer only, and not part of the digest. Drivers round Bytes up and disagree
	// about arrays without a length: Declared is the end of the last variable, with one element
	// of such an array, and Stride and Offset are of that array.
	Declared, Stride, Offset int32

	// Of a Uniform only.
	Type   Type
	Unit   int32  // of an image or a sampler: its unit, that of the first of an array
	Format string // of an image: the format qualifier, "" where it has none or it is not known
}

// Opaque returns that of the type of a uniform, and "" for other resources.
func (r *Resource) Opaque() string {
	if r.Kind != Uniform {
		return ""
	}
	return r.Type.Opaque()
}

// DeclareFormats sets the formats of the image uniforms from their declarations in
// the source of the program.
func (i *Interface) DeclareFormats(s *Source) {
	var formats map[string]string
	for k := range i.Resources {
		r := &i.Resources[k]
		if r.Opaque() != "image" {
			continue
		}
		if formats == nil {
			formats = s.ImageFormats()
		}
		name, _, _ := strings.Cut(r.Name, "[")
		r.Format = formats[name]
	}
}

// Sort sorts the resources by kind, then name, as [Interface.Digest] requires.
func (i *Interface) Sort() {
	slices.SortFunc(i.Resources, func(a, b Resource) int {
		if a.Kind != b.Kind {
			return int(a.Kind) - int(b.Kind)
		}
		return strings.Compare(a.Name, b.Name)
	})
}

// Digest returns a hash of the interface: equal interfaces have equal digests.
// Formats, which are part of the text, do not count.
func (i Interface) Digest() Digest {
	h := sha256.New()
	var word [4]byte
	put := func(v uint32) {
		binary.LittleEndian.PutUint32(word[:], v)
		h.Write(word[:])
	}
	for _, v := range i.WorkGroup {
		put(v)
	}
	for _, r := range i.Resources {
		put(uint32(r.Kind))
		put(uint32(len(r.Name)))
		h.Write([]byte(r.Name))
		put(uint32(r.Binding))
		put(uint32(r.Bytes))
		if r.Type != 0 {
			put(uint32(r.Type))
			put(uint32(r.Unit))
		}
	}
	return Digest(h.Sum(nil))
}
