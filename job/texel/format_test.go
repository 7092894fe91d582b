package texel

import "testing"

// TestAliases compares with the classes of image formats in table 8.27 of OpenGL 4.5.
func TestAliases(t *testing.T) {
	classes := [][]Format{
		{RGBA32F, RGBA32UI, RGBA32I}, {RG32F, RG32UI, RG32I}, {R32F, R32UI, R32I},
		{RGBA16F, RGBA16, RGBA16UI, RGBA16I, RGBA16Snorm}, {RG16F, RG16, RG16UI, RG16I, RG16Snorm}, {R16F, R16, R16UI, R16I, R16Snorm},
		{RGBA8, RGBA8UI, RGBA8I, RGBA8Snorm}, {RG8, RG8UI, RG8I, RG8Snorm}, {R8, R8UI, R8I, R8Snorm},
		{R11G11B10F}, {RGB10A2, RGB10A2UI},
	}
	classOf := map[Format]int{}
	for i, class := range classes {
		for _, f := range class {
			classOf[f] = i + 1
		}
	}
	for f := Format(0); f <= Depth32F+1; f++ {
		if isImage := f.Qualifier() != ""; isImage != (classOf[f] != 0) {
			t.Errorf("%s is in class %d", f, classOf[f])
		}
		for g := Format(0); g <= Depth32F+1; g++ {
			both := classOf[f] != 0 && classOf[g] != 0
			if got, want := f.Aliases(g, true), both && classOf[f] == classOf[g]; got != want {
				t.Errorf("%s as %s, by class: %v", f, g, got)
			}
			if got, want := f.Aliases(g, false), both && f.Bytes() == g.Bytes(); got != want {
				t.Errorf("%s as %s, by size: %v", f, g, got)
			}
		}
	}
}
