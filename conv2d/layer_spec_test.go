//go:build linux

package conv2d

import "testing"

func TestLayerSpec(t *testing.T) {
	for _, spec := range []string{
		"conv2d:1x3x8x8-4,3x3,p1,bias,relu",
		"gemm:8x8x8",
		`conv2d:3x1x10x10-1,3x3 {"algorithm":"direct","params":{"local":64}}`,
		`gemm:8x8x8 {"algorithm":"gemm_future","params":{"a":1}}`,
	} {
		l, err := ParseLayer(" " + spec + "\r\n")
		if err != nil || l.Spec() != spec {
			t.Errorf("%s: %s, %v", spec, l.Spec(), err)
		}
	}
	for _, spec := range []string{
		"", "gemm:", "gemm:0x1x1", "gemm:8x8x8 direct", `gemm:8x8x8 {"algorithm":"direct"}`,
		`gemm:8x8x8 {"algorithm":"direct","params":{"local":"x"}}`, `gemm:8x8x8 {"algorithm":"direct","params":{"other":1}}`,
	} {
		if l, err := ParseLayer(spec); err == nil {
			t.Errorf("%q is the layer %s", spec, l.Spec())
		}
	}
}

func FuzzLayerSpec(f *testing.F) {
	f.Add(`conv2d:3x1x10x10-1,3x3 {"algorithm":"direct","params":{"local":64}}`)
	f.Add("gemm:8x8x8,relu")
	f.Fuzz(func(t *testing.T, line string) {
		l, err := ParseLayer(line)
		if err != nil {
			return
		}
		again, err := ParseLayer(l.Spec())
		if l.Choice != nil && err != nil {
			return // parameters that are unknown may have no JSON of their own
		}
		if err != nil || again.Spec() != l.Spec() {
			t.Errorf("%q is written %q and read %q, %v", line, l.Spec(), again.Spec(), err)
		}
	})
}
