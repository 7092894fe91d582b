package glctx

import "testing"

// TestInlinedUniforms has the drivers and settings whose programs may see uniforms of an
// earlier dispatch.
func TestInlinedUniforms(t *testing.T) {
	const cpu, gpu = "zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))", "zink Vulkan 1.4(NVIDIA GeForce RTX 4070 (MESA_NVK))"
	for _, c := range []struct {
		gpu, set string
		want     bool
	}{
		{cpu, "", true}, {cpu, "0", false}, {cpu, "false", false}, {cpu, "1", true}, {cpu, "nonsense", true},
		{gpu, "", false}, {gpu, "0", false}, {gpu, "True", true},
		{"llvmpipe (LLVM 19.1.7, 256 bits)", "1", false},
	} {
		if got := (Info{GPU: c.gpu}).inlinesUniforms(c.set); got != c.want {
			t.Errorf("%s with %q: %t", c.gpu, c.set, got)
		}
	}
}
