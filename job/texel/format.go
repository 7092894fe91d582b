// Package texel has what textures hold and how programs read them: formats, shapes, regions,
// samplers, and pictures as texels. It is pure Go: package glctx makes textures, jobs bind them.
package texel

// Format is the format of the texels of a texture, by the word that GLSL has for it as the
// qualifier of an image: "rgba8". Programs only sample "srgb8_alpha8", "depth_component16" and
// "depth_component32f". docs/binding.md has a table of all.
type Format string

// formatInfo describes a format. Texels have no padding: a texel is that many
// components of the Go type, or one where the components are packed into a word.
type formatInfo struct {
	name       Format
	bytes      int // of a texel
	components int
	goType     string // of a component, or of a packed texel
	base       string

	internal, client, clientType uint32 // see GL
}

// formats has the image formats of OpenGL 4.5, then those that programs only sample.
var formats = [...]formatInfo{
	{"rgba32f", 16, 4, "float32", "float", 0x8814, 0x1908, 0x1406},
	{"rg32f", 8, 2, "float32", "float", 0x8230, 0x8227, 0x1406},
	{"r32f", 4, 1, "float32", "float", 0x822E, 0x1903, 0x1406},
	{"rgba16f", 8, 4, "uint16", "float", 0x881A, 0x1908, 0x140B},
	{"rg16f", 4, 2, "uint16", "float", 0x822F, 0x8227, 0x140B},
	{"r16f", 2, 1, "uint16", "float", 0x822D, 0x1903, 0x140B},
	{"r11f_g11f_b10f", 4, 3, "uint32", "float", 0x8C3A, 0x1907, 0x8C3B},
	{"rgba16", 8, 4, "uint16", "float", 0x805B, 0x1908, 0x1403},
	{"rg16", 4, 2, "uint16", "float", 0x822C, 0x8227, 0x1403},
	{"r16", 2, 1, "uint16", "float", 0x822A, 0x1903, 0x1403},
	{"rgb10_a2", 4, 4, "uint32", "float", 0x8059, 0x1908, 0x8368},
	{"rgba8", 4, 4, "uint8", "float", 0x8058, 0x1908, 0x1401},
	{"rg8", 2, 2, "uint8", "float", 0x822B, 0x8227, 0x1401},
	{"r8", 1, 1, "uint8", "float", 0x8229, 0x1903, 0x1401},
	{"rgba16_snorm", 8, 4, "int16", "float", 0x8F9B, 0x1908, 0x1402},
	{"rg16_snorm", 4, 2, "int16", "float", 0x8F99, 0x8227, 0x1402},
	{"r16_snorm", 2, 1, "int16", "float", 0x8F98, 0x1903, 0x1402},
	{"rgba8_snorm", 4, 4, "int8", "float", 0x8F97, 0x1908, 0x1400},
	{"rg8_snorm", 2, 2, "int8", "float", 0x8F95, 0x8227, 0x1400},
	{"r8_snorm", 1, 1, "int8", "float", 0x8F94, 0x1903, 0x1400},
	{"rgba32i", 16, 4, "int32", "int", 0x8D82, 0x8D99, 0x1404},
	{"rg32i", 8, 2, "int32", "int", 0x823B, 0x8228, 0x1404},
	{"r32i", 4, 1, "int32", "int", 0x8235, 0x8D94, 0x1404},
	{"rgba16i", 8, 4, "int16", "int", 0x8D88, 0x8D99, 0x1402},
	{"rg16i", 4, 2, "int16", "int", 0x8239, 0x8228, 0x1402},
	{"r16i", 2, 1, "int16", "int", 0x8233, 0x8D94, 0x1402},
	{"rgba8i", 4, 4, "int8", "int", 0x8D8E, 0x8D99, 0x1400},
	{"rg8i", 2, 2, "int8", "int", 0x8237, 0x8228, 0x1400},
	{"r8i", 1, 1, "int8", "int", 0x8231, 0x8D94, 0x1400},
	{"rgba32ui", 16, 4, "uint32", "uint", 0x8D70, 0x8D99, 0x1405},
	{"rg32ui", 8, 2, "uint32", "uint", 0x823C, 0x8228, 0x1405},
	{"r32ui", 4, 1, "uint32", "uint", 0x8236, 0x8D94, 0x1405},
	{"rgba16ui", 8, 4, "uint16", "uint", 0x8D76, 0x8D99, 0x1403},
	{"rg16ui", 4, 2, "uint16", "uint", 0x823A, 0x8228, 0x1403},
	{"r16ui", 2, 1, "uint16", "uint", 0x8234, 0x8D94, 0x1403},
	{"rgba8ui", 4, 4, "uint8", "uint", 0x8D7C, 0x8D99, 0x1401},
	{"rg8ui", 2, 2, "uint8", "uint", 0x8238, 0x8228, 0x1401},
	{"r8ui", 1, 1, "uint8", "uint", 0x8232, 0x8D94, 0x1401},
	{"rgb10_a2ui", 4, 4, "uint32", "uint", 0x906F, 0x8D99, 0x8368},
	{"srgb8_alpha8", 4, 4, "uint8", "float", 0x8C43, 0x1908, 0x1401},
	{"depth_component16", 2, 1, "uint16", "float", 0x81A5, 0x1902, 0x1403},
	{"depth_component32f", 4, 1, "float32", "float", 0x8CAC, 0x1902, 0x1406},
}

var infoOf = func() map[Format]formatInfo {
	of := map[Format]formatInfo{}
	for _, i := range formats {
		of[i.name] = i
	}
	return of
}()

// Formats returns all formats, in the order of their numbers in the server's protocol.
func Formats() (list []Format) {
	for i := range formats {
		list = append(list, formats[i].name)
	}
	return list
}

// Known reports whether f is one of the formats.
func (f Format) Known() bool { return f.info().bytes > 0 }

// Sampled reports whether programs only sample the format: no image has it.
func (f Format) Sampled() bool { return f.Depth() || f == "srgb8_alpha8" }

// info returns the description of f; that of no texels where f is not known.
func (f Format) info() formatInfo { return infoOf[f] }

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

// Base returns the type that a program reads: image2D and sampler2D are for "float", iimage2D
// and isampler2D for "int", uimage2D and usampler2D for "uint".
func (f Format) Base() string { return f.info().base }

// Depth reports whether the format is one of depths, which a shadow sampler compares.
func (f Format) Depth() bool { return f == "depth_component16" || f == "depth_component32f" }

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
	if a.bytes == 0 || a.bytes != b.bytes || f.Sampled() || g.Sampled() {
		return false
	}
	// The classes of GL (table 8.27): equally many components, packed into a word or not.
	return !byClass || a.components == b.components && f.Datum() == g.Datum()
}
