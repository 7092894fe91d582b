package texel

import "testing"

// TestAliases compares with the classes of image formats in table 8.27 of OpenGL 4.5.
func TestAliases(t *testing.T) {
	classes := [][]Format{
		{"rgba32f", "rgba32ui", "rgba32i"}, {"rg32f", "rg32ui", "rg32i"}, {"r32f", "r32ui", "r32i"},
		{"rgba16f", "rgba16", "rgba16ui", "rgba16i", "rgba16_snorm"}, {"rg16f", "rg16", "rg16ui", "rg16i", "rg16_snorm"}, {"r16f", "r16", "r16ui", "r16i", "r16_snorm"},
		{"rgba8", "rgba8ui", "rgba8i", "rgba8_snorm"}, {"rg8", "rg8ui", "rg8i", "rg8_snorm"}, {"r8", "r8ui", "r8i", "r8_snorm"},
		{"r11f_g11f_b10f"}, {"rgb10_a2", "rgb10_a2ui"},
	}
	classOf := map[Format]int{}
	for i, class := range classes {
		for _, f := range class {
			classOf[f] = i + 1
		}
	}
	all := append(Formats(), "", "rgba9")
	for _, f := range all {
		if isImage := f.Known() && !f.Sampled(); isImage != (classOf[f] != 0) {
			t.Errorf("%s is in class %d", f, classOf[f])
		}
		for _, g := range all {
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
