package shader

import "fmt"

// Type is the type of a uniform, as GL numbers it. Its String is the name in GLSL.
type Type uint32

// Base is the type of the components of a [Type]. For an image or a sampler it is the
// type of what a program reads from it: FloatBase for normalized formats too.
type Base uint8

// The bases.
const (
	FloatBase Base = iota + 1
	DoubleBase
	IntBase
	UintBase
	BoolBase
)

var baseNames = [...]string{FloatBase: "float", DoubleBase: "double", IntBase: "int", UintBase: "uint", BoolBase: "bool"}

func (b Base) String() string { return baseNames[b] }

// Opaque is the kind of a type without a value of its own.
type Opaque uint8

// The kinds of opaque type.
const (
	NotOpaque Opaque = iota
	ImageOpaque
	SamplerOpaque
	CounterOpaque
)

// Dim is the shape of the texture that an image or a sampler is for.
type Dim uint8

// The shapes. Those from DimRect on exist in GLSL, and no texture of package glctx has
// them.
const (
	Dim1D Dim = iota + 1
	Dim2D
	Dim3D
	DimCube
	Dim1DArray
	Dim2DArray
	DimCubeArray
	DimRect
	DimBuffer
	Dim2DMS
	Dim2DMSArray
)

var dimNames = [...]string{
	Dim1D: "1D", Dim2D: "2D", Dim3D: "3D", DimCube: "Cube", Dim1DArray: "1DArray", Dim2DArray: "2DArray", DimCubeArray: "CubeArray",
	DimRect: "2DRect", DimBuffer: "Buffer", Dim2DMS: "2DMS", Dim2DMSArray: "2DMSArray",
}

func (d Dim) String() string {
	if int(d) >= len(dimNames) {
		return fmt.Sprintf("shape %d", uint8(d))
	}
	return dimNames[d]
}

// typeInfo describes a type. A vector has one column.
type typeInfo struct {
	name          string
	base          Base
	columns, rows uint8
	opaque        Opaque
	dim           Dim
	shadow        bool
}

// pages has types by their two bytes: looking one up is part of every job.
var pages = func() (pages [256]*[256]typeInfo) {
	for t, info := range types {
		page := &pages[t>>8]
		if *page == nil {
			*page = new([256]typeInfo)
		}
		(*page)[t&0xff] = info
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

// Base returns the type of the components.
func (t Type) Base() Base { return t.info().base }

// Shape returns the number of columns, 1 but for matrices, and of rows.
func (t Type) Shape() (columns, rows int) { return int(t.info().columns), int(t.info().rows) }

// Components returns the number of components; 0 for opaque types.
func (t Type) Components() int { return int(t.info().columns) * int(t.info().rows) }

// Bytes returns the size of a value as the API of GL has it, without padding.
func (t Type) Bytes() int {
	if t.Base() == DoubleBase {
		return 8 * t.Components()
	}
	return 4 * t.Components()
}

// Opaque returns the kind of an opaque type, NotOpaque for others.
func (t Type) Opaque() Opaque { return t.info().opaque }

// Dim returns the shape of an image or a sampler.
func (t Type) Dim() Dim { return t.info().dim }

// Shadow reports whether the sampler compares with a reference.
func (t Type) Shadow() bool { return t.info().shadow }

// Types of values that code names.
const (
	FloatType  Type = 0x1406
	Vec3Type   Type = 0x8B51
	Vec4Type   Type = 0x8B52
	UintType   Type = 0x1405
	Mat3Type   Type = 0x8B5B
	DoubleType Type = 0x140A
)

// types has every type of GLSL 4.50.
var types = map[Type]typeInfo{
	0x1406: {name: "float", base: FloatBase, columns: 1, rows: 1},
	0x8B50: {name: "vec2", base: FloatBase, columns: 1, rows: 2},
	0x8B51: {name: "vec3", base: FloatBase, columns: 1, rows: 3},
	0x8B52: {name: "vec4", base: FloatBase, columns: 1, rows: 4},
	0x140A: {name: "double", base: DoubleBase, columns: 1, rows: 1},
	0x8FFC: {name: "dvec2", base: DoubleBase, columns: 1, rows: 2},
	0x8FFD: {name: "dvec3", base: DoubleBase, columns: 1, rows: 3},
	0x8FFE: {name: "dvec4", base: DoubleBase, columns: 1, rows: 4},
	0x1404: {name: "int", base: IntBase, columns: 1, rows: 1},
	0x8B53: {name: "ivec2", base: IntBase, columns: 1, rows: 2},
	0x8B54: {name: "ivec3", base: IntBase, columns: 1, rows: 3},
	0x8B55: {name: "ivec4", base: IntBase, columns: 1, rows: 4},
	0x1405: {name: "uint", base: UintBase, columns: 1, rows: 1},
	0x8DC6: {name: "uvec2", base: UintBase, columns: 1, rows: 2},
	0x8DC7: {name: "uvec3", base: UintBase, columns: 1, rows: 3},
	0x8DC8: {name: "uvec4", base: UintBase, columns: 1, rows: 4},
	0x8B56: {name: "bool", base: BoolBase, columns: 1, rows: 1},
	0x8B57: {name: "bvec2", base: BoolBase, columns: 1, rows: 2},
	0x8B58: {name: "bvec3", base: BoolBase, columns: 1, rows: 3},
	0x8B59: {name: "bvec4", base: BoolBase, columns: 1, rows: 4},
	0x8B5A: {name: "mat2", base: FloatBase, columns: 2, rows: 2},
	0x8B65: {name: "mat2x3", base: FloatBase, columns: 2, rows: 3},
	0x8B66: {name: "mat2x4", base: FloatBase, columns: 2, rows: 4},
	0x8B67: {name: "mat3x2", base: FloatBase, columns: 3, rows: 2},
	0x8B5B: {name: "mat3", base: FloatBase, columns: 3, rows: 3},
	0x8B68: {name: "mat3x4", base: FloatBase, columns: 3, rows: 4},
	0x8B69: {name: "mat4x2", base: FloatBase, columns: 4, rows: 2},
	0x8B6A: {name: "mat4x3", base: FloatBase, columns: 4, rows: 3},
	0x8B5C: {name: "mat4", base: FloatBase, columns: 4, rows: 4},
	0x8F46: {name: "dmat2", base: DoubleBase, columns: 2, rows: 2},
	0x8F49: {name: "dmat2x3", base: DoubleBase, columns: 2, rows: 3},
	0x8F4A: {name: "dmat2x4", base: DoubleBase, columns: 2, rows: 4},
	0x8F4B: {name: "dmat3x2", base: DoubleBase, columns: 3, rows: 2},
	0x8F47: {name: "dmat3", base: DoubleBase, columns: 3, rows: 3},
	0x8F4C: {name: "dmat3x4", base: DoubleBase, columns: 3, rows: 4},
	0x8F4D: {name: "dmat4x2", base: DoubleBase, columns: 4, rows: 2},
	0x8F4E: {name: "dmat4x3", base: DoubleBase, columns: 4, rows: 3},
	0x8F48: {name: "dmat4", base: DoubleBase, columns: 4, rows: 4},
	0x8B5D: {name: "sampler1D", base: FloatBase, opaque: SamplerOpaque, dim: Dim1D},
	0x8B5E: {name: "sampler2D", base: FloatBase, opaque: SamplerOpaque, dim: Dim2D},
	0x8B5F: {name: "sampler3D", base: FloatBase, opaque: SamplerOpaque, dim: Dim3D},
	0x8B60: {name: "samplerCube", base: FloatBase, opaque: SamplerOpaque, dim: DimCube},
	0x8DC0: {name: "sampler1DArray", base: FloatBase, opaque: SamplerOpaque, dim: Dim1DArray},
	0x8DC1: {name: "sampler2DArray", base: FloatBase, opaque: SamplerOpaque, dim: Dim2DArray},
	0x900C: {name: "samplerCubeArray", base: FloatBase, opaque: SamplerOpaque, dim: DimCubeArray},
	0x8B63: {name: "sampler2DRect", base: FloatBase, opaque: SamplerOpaque, dim: DimRect},
	0x8DC2: {name: "samplerBuffer", base: FloatBase, opaque: SamplerOpaque, dim: DimBuffer},
	0x9108: {name: "sampler2DMS", base: FloatBase, opaque: SamplerOpaque, dim: Dim2DMS},
	0x910B: {name: "sampler2DMSArray", base: FloatBase, opaque: SamplerOpaque, dim: Dim2DMSArray},
	0x8DC9: {name: "isampler1D", base: IntBase, opaque: SamplerOpaque, dim: Dim1D},
	0x8DCA: {name: "isampler2D", base: IntBase, opaque: SamplerOpaque, dim: Dim2D},
	0x8DCB: {name: "isampler3D", base: IntBase, opaque: SamplerOpaque, dim: Dim3D},
	0x8DCC: {name: "isamplerCube", base: IntBase, opaque: SamplerOpaque, dim: DimCube},
	0x8DCE: {name: "isampler1DArray", base: IntBase, opaque: SamplerOpaque, dim: Dim1DArray},
	0x8DCF: {name: "isampler2DArray", base: IntBase, opaque: SamplerOpaque, dim: Dim2DArray},
	0x900E: {name: "isamplerCubeArray", base: IntBase, opaque: SamplerOpaque, dim: DimCubeArray},
	0x8DCD: {name: "isampler2DRect", base: IntBase, opaque: SamplerOpaque, dim: DimRect},
	0x8DD0: {name: "isamplerBuffer", base: IntBase, opaque: SamplerOpaque, dim: DimBuffer},
	0x9109: {name: "isampler2DMS", base: IntBase, opaque: SamplerOpaque, dim: Dim2DMS},
	0x910C: {name: "isampler2DMSArray", base: IntBase, opaque: SamplerOpaque, dim: Dim2DMSArray},
	0x8DD1: {name: "usampler1D", base: UintBase, opaque: SamplerOpaque, dim: Dim1D},
	0x8DD2: {name: "usampler2D", base: UintBase, opaque: SamplerOpaque, dim: Dim2D},
	0x8DD3: {name: "usampler3D", base: UintBase, opaque: SamplerOpaque, dim: Dim3D},
	0x8DD4: {name: "usamplerCube", base: UintBase, opaque: SamplerOpaque, dim: DimCube},
	0x8DD6: {name: "usampler1DArray", base: UintBase, opaque: SamplerOpaque, dim: Dim1DArray},
	0x8DD7: {name: "usampler2DArray", base: UintBase, opaque: SamplerOpaque, dim: Dim2DArray},
	0x900F: {name: "usamplerCubeArray", base: UintBase, opaque: SamplerOpaque, dim: DimCubeArray},
	0x8DD5: {name: "usampler2DRect", base: UintBase, opaque: SamplerOpaque, dim: DimRect},
	0x8DD8: {name: "usamplerBuffer", base: UintBase, opaque: SamplerOpaque, dim: DimBuffer},
	0x910A: {name: "usampler2DMS", base: UintBase, opaque: SamplerOpaque, dim: Dim2DMS},
	0x910D: {name: "usampler2DMSArray", base: UintBase, opaque: SamplerOpaque, dim: Dim2DMSArray},
	0x904C: {name: "image1D", base: FloatBase, opaque: ImageOpaque, dim: Dim1D},
	0x904D: {name: "image2D", base: FloatBase, opaque: ImageOpaque, dim: Dim2D},
	0x904E: {name: "image3D", base: FloatBase, opaque: ImageOpaque, dim: Dim3D},
	0x9050: {name: "imageCube", base: FloatBase, opaque: ImageOpaque, dim: DimCube},
	0x9052: {name: "image1DArray", base: FloatBase, opaque: ImageOpaque, dim: Dim1DArray},
	0x9053: {name: "image2DArray", base: FloatBase, opaque: ImageOpaque, dim: Dim2DArray},
	0x9054: {name: "imageCubeArray", base: FloatBase, opaque: ImageOpaque, dim: DimCubeArray},
	0x904F: {name: "image2DRect", base: FloatBase, opaque: ImageOpaque, dim: DimRect},
	0x9051: {name: "imageBuffer", base: FloatBase, opaque: ImageOpaque, dim: DimBuffer},
	0x9055: {name: "image2DMS", base: FloatBase, opaque: ImageOpaque, dim: Dim2DMS},
	0x9056: {name: "image2DMSArray", base: FloatBase, opaque: ImageOpaque, dim: Dim2DMSArray},
	0x9057: {name: "iimage1D", base: IntBase, opaque: ImageOpaque, dim: Dim1D},
	0x9058: {name: "iimage2D", base: IntBase, opaque: ImageOpaque, dim: Dim2D},
	0x9059: {name: "iimage3D", base: IntBase, opaque: ImageOpaque, dim: Dim3D},
	0x905B: {name: "iimageCube", base: IntBase, opaque: ImageOpaque, dim: DimCube},
	0x905D: {name: "iimage1DArray", base: IntBase, opaque: ImageOpaque, dim: Dim1DArray},
	0x905E: {name: "iimage2DArray", base: IntBase, opaque: ImageOpaque, dim: Dim2DArray},
	0x905F: {name: "iimageCubeArray", base: IntBase, opaque: ImageOpaque, dim: DimCubeArray},
	0x905A: {name: "iimage2DRect", base: IntBase, opaque: ImageOpaque, dim: DimRect},
	0x905C: {name: "iimageBuffer", base: IntBase, opaque: ImageOpaque, dim: DimBuffer},
	0x9060: {name: "iimage2DMS", base: IntBase, opaque: ImageOpaque, dim: Dim2DMS},
	0x9061: {name: "iimage2DMSArray", base: IntBase, opaque: ImageOpaque, dim: Dim2DMSArray},
	0x9062: {name: "uimage1D", base: UintBase, opaque: ImageOpaque, dim: Dim1D},
	0x9063: {name: "uimage2D", base: UintBase, opaque: ImageOpaque, dim: Dim2D},
	0x9064: {name: "uimage3D", base: UintBase, opaque: ImageOpaque, dim: Dim3D},
	0x9066: {name: "uimageCube", base: UintBase, opaque: ImageOpaque, dim: DimCube},
	0x9068: {name: "uimage1DArray", base: UintBase, opaque: ImageOpaque, dim: Dim1DArray},
	0x9069: {name: "uimage2DArray", base: UintBase, opaque: ImageOpaque, dim: Dim2DArray},
	0x906A: {name: "uimageCubeArray", base: UintBase, opaque: ImageOpaque, dim: DimCubeArray},
	0x9065: {name: "uimage2DRect", base: UintBase, opaque: ImageOpaque, dim: DimRect},
	0x9067: {name: "uimageBuffer", base: UintBase, opaque: ImageOpaque, dim: DimBuffer},
	0x906B: {name: "uimage2DMS", base: UintBase, opaque: ImageOpaque, dim: Dim2DMS},
	0x906C: {name: "uimage2DMSArray", base: UintBase, opaque: ImageOpaque, dim: Dim2DMSArray},
	0x8B61: {name: "sampler1DShadow", base: FloatBase, opaque: SamplerOpaque, dim: Dim1D, shadow: true},
	0x8B62: {name: "sampler2DShadow", base: FloatBase, opaque: SamplerOpaque, dim: Dim2D, shadow: true},
	0x8DC5: {name: "samplerCubeShadow", base: FloatBase, opaque: SamplerOpaque, dim: DimCube, shadow: true},
	0x8DC3: {name: "sampler1DArrayShadow", base: FloatBase, opaque: SamplerOpaque, dim: Dim1DArray, shadow: true},
	0x8DC4: {name: "sampler2DArrayShadow", base: FloatBase, opaque: SamplerOpaque, dim: Dim2DArray, shadow: true},
	0x900D: {name: "samplerCubeArrayShadow", base: FloatBase, opaque: SamplerOpaque, dim: DimCubeArray, shadow: true},
	0x8B64: {name: "sampler2DRectShadow", base: FloatBase, opaque: SamplerOpaque, dim: DimRect, shadow: true},
	0x92DB: {name: "atomic_uint", base: UintBase, opaque: CounterOpaque},
}
