package glctx

import "testing"

// The renderers are those of real drivers, of Mesa 17 to 25 and of NVIDIA.
func TestRenderer(t *testing.T) {
	for text, want := range map[string]string{
		// radeonsi of Mesa 23.3 and later, with LLVM and with ACO; another kernel, another card
		"AMD Radeon RX 7900 XTX (radeonsi, navi31, LLVM 19.1.7, DRM 3.49, 6.18.44-fc-v669)": "AMD navi31 (radeonsi, LLVM 19.1.7)",
		"AMD Radeon RX 7900 XTX (radeonsi, navi31, LLVM 19.1.7, DRM 3.64, 7.0.1)":           "AMD navi31 (radeonsi, LLVM 19.1.7)",
		"AMD Radeon RX 7900 XT (radeonsi, navi31, LLVM 19.1.7, DRM 3.49, 6.18.44)":          "AMD navi31 (radeonsi, LLVM 19.1.7)",
		"AMD Radeon RX 7900 XT (radeonsi, navi31, ACO, DRM 3.49, 6.18.44)":                  "AMD navi31 (radeonsi, ACO)",
		"AMD Radeon RX 5700 XT (radeonsi, navi10, LLVM 15.0.7, DRM 3.54, 6.5.0-10-generic)": "AMD navi10 (radeonsi, LLVM 15.0.7)",
		// APUs have one name, whatever the chip
		"AMD Radeon Graphics (radeonsi, renoir, ACO, DRM 3.49, 6.18.44)":                         "AMD renoir (radeonsi, ACO)",
		"AMD Radeon Graphics (radeonsi, raphael_mendocino, LLVM 17.0.6, DRM 3.57, 6.8.0-31)":     "AMD raphael_mendocino (radeonsi, LLVM 17.0.6)",
		"AMD Radeon(TM) Graphics (radeonsi, gfx1150, LLVM 19.1.7, DRM 3.59, 6.11.0)":             "AMD gfx1150 (radeonsi, LLVM 19.1.7)",
		"AMD Radeon Graphics (RADEONSI, RENOIR, LLVM 15.0.7, DRM 3.49, 6.1.0)":                   "AMD renoir (radeonsi, LLVM 15.0.7)",
		"AMD Radeon RX Vega 56 (vega10, LLVM 15.0.6, DRM 3.49, 6.1.0-13-amd64)":                  "AMD vega10 (radeonsi, LLVM 15.0.6)",
		"AMD Radeon RX 6800 (SIENNA_CICHLID, DRM 3.42.0, 5.15.0-52-generic, LLVM 13.0.1)":        "AMD sienna_cichlid (radeonsi, LLVM 13.0.1)",
		"AMD Radeon (TM) RX 480 Graphics (POLARIS10 / DRM 3.23.0 / 4.15.0-20-generic, LLVM 6.0)": "AMD polaris10 (radeonsi, LLVM 6.0)",
		"Radeon RX 580 Series (POLARIS10, DRM 3.40.0, 5.10.0-8-amd64, LLVM 11.0.1)":              "AMD polaris10 (radeonsi, LLVM 11.0.1)",
		"AMD TAHITI (DRM 2.50.0 / 5.4.0, LLVM 9.0.0)":                                            "AMD TAHITI (LLVM 9.0.0)",
		"AMD CEDAR (DRM 2.50.0 / 5.4.0-42-generic)":                                              "AMD CEDAR",
		// nothing in these depends on the machine
		"Mesa Intel(R) Iris(R) Xe Graphics (TGL GT2)":  "",
		"Mesa Intel(R) HD Graphics (HSW GT3)":          "",
		"Mesa DRI Intel(R) HD Graphics 4000 (IVB GT2)": "",
		"NV120":                             "",
		"V3D 4.2.14.0":                      "",
		"Mali-G52 (Panfrost)":               "",
		"FD630":                             "",
		"llvmpipe (LLVM 15.0.6, 256 bits)":  "",
		"NVIDIA H200/PCIe/SSE2":             "",
		"NVIDIA GeForce RTX 3080/PCIe/SSE2": "",
		"zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))": "",
		"zink Vulkan 1.3(AMD Radeon RX 7900 XTX (RADV NAVI31) (MESA_RADV))": "",
		"": "",
		// of the host below a virtual machine
		"virgl (AMD Radeon RX 6800 (radeonsi, navi21, LLVM 15.0.7, DRM 3.52, 6.4.0))": "virgl (AMD navi21 (radeonsi, LLVM 15.0.7))",
		// cut short by a driver
		"AMD Radeon (radeonsi, navi31, LLVM 19.1.7, DRM 3.49, 6.18": "",
	} {
		if want == "" {
			want = text
		}
		if got := rendererID(text); got != want {
			t.Errorf("%q\n\tis %q\n\twant %q", text, got, want)
		}
		if again := rendererID(rendererID(text)); again != rendererID(text) {
			t.Errorf("%q twice is %q", text, again)
		}
	}
}
