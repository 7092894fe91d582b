package shader

import (
	"fmt"
	"strings"
)

// Type is the type of a uniform, as GL numbers it. Its String is the name in GLSL.
type Type uint32

// typeInfo describes a type. A vector has one column.
type typeInfo struct {
	name          string
	base          string
	columns, rows uint8
	opaque        string
	dim           string
	shadow        bool
}

// pages has types by their two bytes: looking one up is part of every job.
var pages = func() (pages [256]*[256]typeInfo) {
	for first, names := range typeNames {
		page := &pages[first>>8]
		if *page == nil {
			*page = new([256]typeInfo)
		}
		for i, name := range strings.Fields(names) {
			(*page)[int(first&0xff)+i] = describe(name)
		}
	}
	return pages
}()

var noType typeInfo

// info returns the description of the type, or an empty one.
func (t Type) info() *typeInfo {
	if t > 0xffff || pages[t>>8] == nil {
		return &noType
	}
	return &pages[t>>8][t&0xff]
}

// Known reports whether the type is one of GLSL 4.50. The other methods return zero
// values for those that are not.
func (t Type) Known() bool { return t.info().name != "" }

// String returns the name in GLSL, such as mat4x3 or uimage2DArray.
func (t Type) String() string {
	if !t.Known() {
		return fmt.Sprintf("type %#x", uint32(t))
	}
	return t.info().name
}

// Base returns the type of the components: "float", "double", "int", "uint" or "bool". Of an
// image or a sampler it is the type of what a program reads from it: "float" for normalized
// formats too.
func (t Type) Base() string { return t.info().base }

// Shape returns the number of columns, 1 but for matrices, and of rows.
func (t Type) Shape() (columns, rows int) { return int(t.info().columns), int(t.info().rows) }

// Components returns the number of components; 0 for opaque types.
func (t Type) Components() int { return int(t.info().columns) * int(t.info().rows) }

// Bytes returns the size of a value as the API of GL has it, without padding.
func (t Type) Bytes() int {
	if t.Base() == "double" {
		return 8 * t.Components()
	}
	return 4 * t.Components()
}

// Opaque returns what a type without a value of its own is: "image", "sampler" or "atomic_uint",
// and "" for others.
func (t Type) Opaque() string { return t.info().opaque }

// Dim returns the shape of the texture that an image or a sampler is for, as its name ends: "2D",
// or "CubeArray".
func (t Type) Dim() string { return t.info().dim }

// Shadow reports whether the sampler compares with a reference.
func (t Type) Shadow() bool { return t.info().shadow }

// typeNames has every type of GLSL 4.50. GL numbers each list from its key on.
var typeNames = map[Type]string{
	0x1404: "int uint float",
	0x140A: "double",
	0x8B50: "vec2 vec3 vec4 ivec2 ivec3 ivec4 bool bvec2 bvec3 bvec4 mat2 mat3 mat4 sampler1D sampler2D sampler3D samplerCube " +
		"sampler1DShadow sampler2DShadow sampler2DRect sampler2DRectShadow mat2x3 mat2x4 mat3x2 mat3x4 mat4x2 mat4x3",
	0x8DC0: "sampler1DArray sampler2DArray samplerBuffer sampler1DArrayShadow sampler2DArrayShadow samplerCubeShadow " +
		"uvec2 uvec3 uvec4 isampler1D isampler2D isampler3D isamplerCube isampler2DRect isampler1DArray isampler2DArray isamplerBuffer " +
		"usampler1D usampler2D usampler3D usamplerCube usampler2DRect usampler1DArray usampler2DArray usamplerBuffer",
	0x8F46: "dmat2 dmat3 dmat4 dmat2x3 dmat2x4 dmat3x2 dmat3x4 dmat4x2 dmat4x3",
	0x8FFC: "dvec2 dvec3 dvec4",
	0x900C: "samplerCubeArray samplerCubeArrayShadow isamplerCubeArray usamplerCubeArray",
	0x904C: "image1D image2D image3D image2DRect imageCube imageBuffer image1DArray image2DArray imageCubeArray image2DMS image2DMSArray " +
		"iimage1D iimage2D iimage3D iimage2DRect iimageCube iimageBuffer iimage1DArray iimage2DArray iimageCubeArray iimage2DMS iimage2DMSArray " +
		"uimage1D uimage2D uimage3D uimage2DRect uimageCube uimageBuffer uimage1DArray uimage2DArray uimageCubeArray uimage2DMS uimage2DMSArray",
	0x9108: "sampler2DMS isampler2DMS usampler2DMS sampler2DMSArray isampler2DMSArray usampler2DMSArray",
	0x92DB: "atomic_uint",
}

// prefixes are the bases by what begins the names of their vectors, matrices and so on.
var prefixes = map[string]string{"": "float", "d": "double", "i": "int", "u": "uint", "b": "bool"}

// describe returns what the name of a type says of it.
func describe(name string) typeInfo {
	if prefix, n, ok := strings.Cut(name, "vec"); ok {
		return typeInfo{name: name, base: prefixes[prefix], columns: 1, rows: n[0] - '0'}
	}
	if prefix, n, ok := strings.Cut(name, "mat"); ok { // square, or columns x rows
		return typeInfo{name: name, base: prefixes[prefix], columns: n[0] - '0', rows: n[len(n)-1] - '0'}
	}
	if prefix, dim, ok := strings.Cut(name, "image"); ok {
		return typeInfo{name: name, base: prefixes[prefix], opaque: "image", dim: dim}
	}
	if prefix, dim, ok := strings.Cut(name, "sampler"); ok {
		dim, shadow := strings.CutSuffix(dim, "Shadow")
		return typeInfo{name: name, base: prefixes[prefix], opaque: "sampler", dim: dim, shadow: shadow}
	}
	if name == "atomic_uint" {
		return typeInfo{name: name, base: "uint", opaque: name}
	}
	return typeInfo{name: name, base: name, columns: 1, rows: 1}
}
