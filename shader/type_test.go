package shader

import (
	"maps"
	"testing"
)

func TestTypes(t *testing.T) {
	names := map[string]Type{}
	for v := range Type(0x10000) {
		if !v.Known() {
			continue
		}
		if other, twice := names[v.String()]; twice {
			t.Errorf("%s is %#x and %#x", v, uint32(v), uint32(other))
		}
		names[v.String()] = v
		if isOpaque := v.Opaque() != ""; v.Base() == "" || isOpaque == (v.Bytes() > 0) || isOpaque != (v.Dim() != "" || v.Opaque() == "atomic_uint") {
			t.Errorf("%s: of %s, opaque %q, %d bytes, %s", v, v.Base(), v.Opaque(), v.Bytes(), v.Dim())
		}
	}
	if len(names) != 112 {
		t.Errorf("%d types", len(names))
	}
	for name, v := range map[string]Type{ // the last ones of their lists
		"float": 0x1406, "double": 0x140A, "mat4x3": 0x8B6A, "usamplerBuffer": 0x8DD8, "dmat4x3": 0x8F4E, "dvec4": 0x8FFE,
		"usamplerCubeArray": 0x900F, "uimage2DMSArray": 0x906C, "usampler2DMSArray": 0x910D, "atomic_uint": 0x92DB,
		"vec3": 0x8B51, "vec4": 0x8B52, "uint": 0x1405, "mat3": 0x8B5B, "image2DMSArray": 0x9056, "usampler1D": 0x8DD1,
	} {
		if names[name] != v {
			t.Errorf("%s is %#x, want %#x", name, uint32(names[name]), uint32(v))
		}
	}
	for name, bytes := range map[string]int{"float": 4, "bvec3": 12, "dvec3": 24, "mat4x3": 48, "dmat2x4": 64, "uint": 4, "sampler2D": 0, "atomic_uint": 0} {
		if v := names[name]; v.Bytes() != bytes {
			t.Errorf("%s has %d bytes, want %d", name, v.Bytes(), bytes)
		}
	}
	if columns, rows := names["mat4x3"].Shape(); columns != 4 || rows != 3 {
		t.Errorf("mat4x3 has %d columns and %d rows", columns, rows)
	}
	shadow, image := names["sampler2DArrayShadow"], names["uimageCubeArray"]
	if !shadow.Shadow() || shadow.Dim() != "2DArray" || shadow.Opaque() != "sampler" || image.Shadow() || image.Base() != "uint" || image.Dim() != "CubeArray" {
		t.Error("the shapes of samplers and images are wrong")
	}
	if unknown := Type(7); unknown.Known() || unknown.Bytes() != 0 || unknown.String() != "type 0x7" {
		t.Errorf("an unknown type is %s", unknown)
	}
}

func TestImageFormats(t *testing.T) {
	const text = `
#define FORMAT rgba16f /* of the pictures */
layout(FORMAT, binding = 1) uniform restrict readonly image2D in_, both[3];
layout(binding = 2, rgba8ui) uniform uimage2DArray layers ;
uniform layout(r32f) writeonly
    image3D volume; // layout(r8) uniform image2D comment;
layout(binding = 4) writeonly uniform image2D any;
#if DEPTH == 1
layout(r16f) uniform image2D either;
#else
layout(r32f) uniform image2D either;
#endif
#ifdef X
#define TWO r8
#else
#define TWO rg8
#endif
layout(TWO) uniform image2D two;
uniform sampler2D s;
vec4 f(layout(rgba8) image2D parameter) { return imageLoad(parameter, ivec2(0)); }
void main() {}`
	got := MustSource("formats", text, Defines{"DEPTH": "1"}).ImageFormats()
	want := map[string]string{"in_": "rgba16f", "both": "rgba16f", "layers": "rgba8ui", "volume": "r32f"}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
