// Package texel has what textures hold and how programs read them: formats, shapes, regions,
// samplers, and pictures as texels. It is pure Go: package glctx makes textures, jobs bind them.
package texel

import (
	"fmt"

	"github.com/shadercache/shadercache/shader"
)

// Format is the format of the texels of a texture.
type Format uint8

// The image formats of OpenGL 4.5: programs load and store them through image
// uniforms, and sample them.
const (
	RGBA32F Format = iota + 1
	RG32F
	R32F
	RGBA16F
	RG16F
	R16F
	R11G11B10F
	RGBA16
	RG16
	R16
	RGB10A2
	RGBA8
	RG8
	R8
	RGBA16Snorm
	RG16Snorm
	R16Snorm
	RGBA8Snorm
	RG8Snorm
	R8Snorm
	RGBA32I
	RG32I
	R32I
	RGBA16I
	RG16I
	R16I
	RGBA8I
	RG8I
	R8I
	RGBA32UI
	RG32UI
	R32UI
	RGBA16UI
	RG16UI
	R16UI
	RGBA8UI
	RG8UI
	R8UI
	RGB10A2UI
)

// Formats that programs only sample.
const (
	SRGB8A8 Format = iota + firstSampled
	Depth16
	Depth32F
)

const firstSampled = RGB10A2UI + 1

// formatInfo describes a format. Texels have no padding: a texel is that many
// components of the Go type, or one where the components are packed into a word.
type formatInfo struct {
	name       string // in GL
	qualifier  string // of an image in GLSL; "" where it can only be sampled
	bytes      int    // of a texel
	components int
	goType     string // of a component, or of a packed texel
	base       shader.Base

	internal, client, clientType uint32 // see GL
}

// formats has every format.
var formats = [...]formatInfo{
	RGBA32F:     {"GL_RGBA32F", "rgba32f", 16, 4, "float32", shader.FloatBase, 0x8814, 0x1908, 0x1406},
	RG32F:       {"GL_RG32F", "rg32f", 8, 2, "float32", shader.FloatBase, 0x8230, 0x8227, 0x1406},
	R32F:        {"GL_R32F", "r32f", 4, 1, "float32", shader.FloatBase, 0x822E, 0x1903, 0x1406},
	RGBA16F:     {"GL_RGBA16F", "rgba16f", 8, 4, "uint16", shader.FloatBase, 0x881A, 0x1908, 0x140B},
	RG16F:       {"GL_RG16F", "rg16f", 4, 2, "uint16", shader.FloatBase, 0x822F, 0x8227, 0x140B},
	R16F:        {"GL_R16F", "r16f", 2, 1, "uint16", shader.FloatBase, 0x822D, 0x1903, 0x140B},
	R11G11B10F:  {"GL_R11F_G11F_B10F", "r11f_g11f_b10f", 4, 3, "uint32", shader.FloatBase, 0x8C3A, 0x1907, 0x8C3B},
	RGBA16:      {"GL_RGBA16", "rgba16", 8, 4, "uint16", shader.FloatBase, 0x805B, 0x1908, 0x1403},
	RG16:        {"GL_RG16", "rg16", 4, 2, "uint16", shader.FloatBase, 0x822C, 0x8227, 0x1403},
	R16:         {"GL_R16", "r16", 2, 1, "uint16", shader.FloatBase, 0x822A, 0x1903, 0x1403},
	RGB10A2:     {"GL_RGB10_A2", "rgb10_a2", 4, 4, "uint32", shader.FloatBase, 0x8059, 0x1908, 0x8368},
	RGBA8:       {"GL_RGBA8", "rgba8", 4, 4, "uint8", shader.FloatBase, 0x8058, 0x1908, 0x1401},
	RG8:         {"GL_RG8", "rg8", 2, 2, "uint8", shader.FloatBase, 0x822B, 0x8227, 0x1401},
	R8:          {"GL_R8", "r8", 1, 1, "uint8", shader.FloatBase, 0x8229, 0x1903, 0x1401},
	RGBA16Snorm: {"GL_RGBA16_SNORM", "rgba16_snorm", 8, 4, "int16", shader.FloatBase, 0x8F9B, 0x1908, 0x1402},
	RG16Snorm:   {"GL_RG16_SNORM", "rg16_snorm", 4, 2, "int16", shader.FloatBase, 0x8F99, 0x8227, 0x1402},
	R16Snorm:    {"GL_R16_SNORM", "r16_snorm", 2, 1, "int16", shader.FloatBase, 0x8F98, 0x1903, 0x1402},
	RGBA8Snorm:  {"GL_RGBA8_SNORM", "rgba8_snorm", 4, 4, "int8", shader.FloatBase, 0x8F97, 0x1908, 0x1400},
	RG8Snorm:    {"GL_RG8_SNORM", "rg8_snorm", 2, 2, "int8", shader.FloatBase, 0x8F95, 0x8227, 0x1400},
	R8Snorm:     {"GL_R8_SNORM", "r8_snorm", 1, 1, "int8", shader.FloatBase, 0x8F94, 0x1903, 0x1400},
	RGBA32I:     {"GL_RGBA32I", "rgba32i", 16, 4, "int32", shader.IntBase, 0x8D82, 0x8D99, 0x1404},
	RG32I:       {"GL_RG32I", "rg32i", 8, 2, "int32", shader.IntBase, 0x823B, 0x8228, 0x1404},
	R32I:        {"GL_R32I", "r32i", 4, 1, "int32", shader.IntBase, 0x8235, 0x8D94, 0x1404},
	RGBA16I:     {"GL_RGBA16I", "rgba16i", 8, 4, "int16", shader.IntBase, 0x8D88, 0x8D99, 0x1402},
	RG16I:       {"GL_RG16I", "rg16i", 4, 2, "int16", shader.IntBase, 0x8239, 0x8228, 0x1402},
	R16I:        {"GL_R16I", "r16i", 2, 1, "int16", shader.IntBase, 0x8233, 0x8D94, 0x1402},
	RGBA8I:      {"GL_RGBA8I", "rgba8i", 4, 4, "int8", shader.IntBase, 0x8D8E, 0x8D99, 0x1400},
	RG8I:        {"GL_RG8I", "rg8i", 2, 2, "int8", shader.IntBase, 0x8237, 0x8228, 0x1400},
	R8I:         {"GL_R8I", "r8i", 1, 1, "int8", shader.IntBase, 0x8231, 0x8D94, 0x1400},
	RGBA32UI:    {"GL_RGBA32UI", "rgba32ui", 16, 4, "uint32", shader.UintBase, 0x8D70, 0x8D99, 0x1405},
	RG32UI:      {"GL_RG32UI", "rg32ui", 8, 2, "uint32", shader.UintBase, 0x823C, 0x8228, 0x1405},
	R32UI:       {"GL_R32UI", "r32ui", 4, 1, "uint32", shader.UintBase, 0x8236, 0x8D94, 0x1405},
	RGBA16UI:    {"GL_RGBA16UI", "rgba16ui", 8, 4, "uint16", shader.UintBase, 0x8D76, 0x8D99, 0x1403},
	RG16UI:      {"GL_RG16UI", "rg16ui", 4, 2, "uint16", shader.UintBase, 0x823A, 0x8228, 0x1403},
	R16UI:       {"GL_R16UI", "r16ui", 2, 1, "uint16", shader.UintBase, 0x8234, 0x8D94, 0x1403},
	RGBA8UI:     {"GL_RGBA8UI", "rgba8ui", 4, 4, "uint8", shader.UintBase, 0x8D7C, 0x8D99, 0x1401},
	RG8UI:       {"GL_RG8UI", "rg8ui", 2, 2, "uint8", shader.UintBase, 0x8238, 0x8228, 0x1401},
	R8UI:        {"GL_R8UI", "r8ui", 1, 1, "uint8", shader.UintBase, 0x8232, 0x8D94, 0x1401},
	RGB10A2UI:   {"GL_RGB10_A2UI", "rgb10_a2ui", 4, 4, "uint32", shader.UintBase, 0x906F, 0x8D99, 0x8368},
	SRGB8A8:     {"GL_SRGB8_ALPHA8", "", 4, 4, "uint8", shader.FloatBase, 0x8C43, 0x1908, 0x1401},
	Depth16:     {"GL_DEPTH_COMPONENT16", "", 2, 1, "uint16", shader.FloatBase, 0x81A5, 0x1902, 0x1403},
	Depth32F:    {"GL_DEPTH_COMPONENT32F", "", 4, 1, "float32", shader.FloatBase, 0x8CAC, 0x1902, 0x1406},
}

// FormatOf returns the format of a format qualifier of GLSL, 0 for a word that is none.
func FormatOf(qualifier string) Format {
	for f := RGBA32F; f < firstSampled; f++ {
		if formats[f].qualifier == qualifier {
			return f
		}
	}
	return 0
}

// Known reports whether f is one of the formats.
func (f Format) Known() bool { return f > 0 && int(f) < len(formats) }

// info returns the description of f; that of no format where f is not known.
func (f Format) info() *formatInfo {
	if !f.Known() {
		return &formats[0]
	}
	return &formats[f]
}

// String returns the name in GL, such as GL_RGBA8.
func (f Format) String() string {
	if !f.Known() {
		return fmt.Sprintf("format %d", uint8(f))
	}
	return formats[f].name
}

// Qualifier returns the layout qualifier of an image in GLSL, such as "rgba8", and ""
// for a format that can only be sampled.
func (f Format) Qualifier() string { return f.info().qualifier }

// GL returns what GL calls the format: the internal one, and format and type of the components
// on the host.
func (f Format) GL() (internal, client, clientType uint32) {
	i := f.info()
	return i.internal, i.client, i.clientType
}

// Bytes returns the size of a texel.
func (f Format) Bytes() int { return f.info().bytes }

// Components returns the number of components of a texel.
func (f Format) Components() int { return f.info().components }

// GoType returns the type of a component in a slice of texels: "uint16" for half
// floats, and "uint32" for texels that are one word.
func (f Format) GoType() string { return f.info().goType }

// Base returns the type that a program reads: image2D and sampler2D are for
// shader.FloatBase, iimage2D and isampler2D for shader.IntBase, uimage2D and usampler2D
// for shader.UintBase.
func (f Format) Base() shader.Base { return f.info().base }

// Depth reports whether the format is one of depths, which a shadow sampler compares.
func (f Format) Depth() bool { return f == Depth16 || f == Depth32F }

// Datum returns the bytes of what a transfer has to be aligned to.
func (f Format) Datum() int {
	switch f.info().goType {
	case "uint8", "int8":
		return 1
	case "uint16", "int16":
		return 2
	}
	return 4
}

// Aliases reports whether an image of format g may be bound to a texture of format f: f
// itself, or one of the same size or, byClass as some drivers have it, of the same class, whose
// bits are then read as another type.
func (f Format) Aliases(g Format, byClass bool) bool {
	a, b := f.info(), g.info()
	if a.qualifier == "" || b.qualifier == "" || a.bytes != b.bytes {
		return false
	}
	// The classes of GL (table 8.27): equally many components, packed into a word or not.
	return !byClass || a.components == b.components && f.Datum() == g.Datum()
}
