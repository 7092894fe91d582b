package binary

import (
	"encoding/json"
	"reflect"
	"regexp"
	"testing"

	"github.com/shadercache/shadercache/shader"
)

func TestEachFieldChangesTheFingerprint(t *testing.T) {
	seen := map[shader.Digest]string{testFingerprint.Digest(): "nothing"}
	fields := reflect.TypeFor[Fingerprint]()
	for i := range fields.NumField() {
		f := testFingerprint
		name := fields.Field(i).Name
		switch v := reflect.ValueOf(&f).Elem().Field(i); v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Uint32:
			v.SetUint(v.Uint() + 1)
		case reflect.Int:
			v.SetInt(v.Int() / 2)
		case reflect.Slice:
			v.Set(reflect.ValueOf([]uint32{0x8E21, 0x9552}))
		default:
			t.Fatalf("field %s has kind %s, which this test does not handle", name, v.Kind())
		}
		if clash, ok := seen[f.Digest()]; ok {
			t.Errorf("changing %s gives the digest of changing %s", name, clash)
		}
		seen[f.Digest()] = name
	}
}

func TestFingerprintFieldsDoNotRunTogether(t *testing.T) {
	a := Fingerprint{Vendor: "ab", Renderer: "c"}
	b := Fingerprint{Vendor: "a", Renderer: "bc"}
	if a.Digest() == b.Digest() {
		t.Error("text moved from one field to the next gives the same digest")
	}
	c := Fingerprint{Formats: []uint32{1}, PointerBits: 2}
	d := Fingerprint{Formats: []uint32{1, 2}}
	if c.Digest() == d.Digest() {
		t.Error("a number moved from one field to the next gives the same digest")
	}
}

func TestFingerprintGolden(t *testing.T) {
	// A digest that changes turns every stored program into a miss: raise
	// fingerprintSchema when that is meant.
	const want = "NVIDIA_H200-"
	if got := testFingerprint.DirName(); !regexp.MustCompile("^" + want + "[0-9a-f]{8}$").MatchString(got) {
		t.Errorf("directory %q", got)
	}
	checkGolden(t, "fingerprint_v1.txt", []byte(testFingerprint.Digest().String()+"\n"))
}

func TestLabels(t *testing.T) {
	long := "a very long name of a renderer, longer than any directory name should be"
	for renderer, want := range map[string]string{
		"NVIDIA H200/PCIe/SSE2":                        "NVIDIA_H200",
		"llvmpipe (LLVM 15.0.6, 256 bits)":             "llvmpipe",
		"AMD navi31 (radeonsi, LLVM 19.1.7)":           "AMD_navi31",
		"AMD CEDAR":                                    "AMD_CEDAR",
		"NV120":                                        "NV120",
		"V3D 4.2.14.0":                                 "V3D_4.2.14.0",
		"Mesa Intel(R) UHD Graphics 630 (CFL GT2)":     "Intel_UHD_Graphics_630_CFL_GT2",
		"Mesa Intel(R) Arc(tm) A770M Graphics (DG2)":   "Intel_Arc_A770M_Graphics_DG2",
		"Mesa Intel(R) Graphics (LNL)":                 "Intel_Graphics_LNL",
		"Mesa DRI Intel(R) HD Graphics 4000 (IVB GT2)": "Intel_HD_Graphics_4000_IVB_GT2",
		"zink Vulkan 1.4(llvmpipe (LLVM 19.1.7, 256 bits) (MESA_LLVMPIPE))": "zink_llvmpipe",
		"zink Vulkan 1.3(NVIDIA GeForce RTX 4090 (NVIDIA_PROPRIETARY))":     "zink_NVIDIA_GeForce_RTX_4090",
		"ANGLE (Intel, Intel(R) Iris(R) Xe, OpenGL ES)":                     "ANGLE",
		"":               "unknown",
		"...":            "unknown",
		"../../etc":      "unknown",
		"/etc/passwd":    "etc_passwd",
		"(odd)":          "odd",
		"Ünïcode\x00\n1": "n_code__1",
		long:             long[:1] + "_very_long_name_of_a_renderer__longer_than_any_d",
	} {
		got := Fingerprint{Renderer: renderer}.Label()
		if want != got && renderer != long {
			t.Errorf("label of %q is %q, want %q", renderer, got, want)
		}
		if len(got) > 48 || !fingerprintDir.MatchString(Fingerprint{Renderer: renderer}.DirName()) {
			t.Errorf("label %q of %q makes no directory name", got, renderer)
		}
	}
}

func TestFingerprintJSON(t *testing.T) {
	data, err := json.Marshal(testFingerprint)
	must(t, err)
	var got Fingerprint
	must(t, json.Unmarshal(data, &got))
	if got.Digest() != testFingerprint.Digest() {
		t.Errorf("%s reads back as %+v", data, got)
	}
}

func TestInterfaceDigest(t *testing.T) {
	base := func() shader.Interface {
		return shader.Interface{WorkGroup: [3]uint32{8, 8, 1}, Resources: []shader.Resource{
			{Kind: shader.StorageBuffer, Name: "in", Binding: 0, Bytes: 4},
			{Kind: shader.Uniform, Name: "scale", Binding: 3, Bytes: 1},
		}}
	}
	changes := map[string]func(i *shader.Interface){
		"work group": func(i *shader.Interface) { i.WorkGroup[1] = 4 },
		"kind":       func(i *shader.Interface) { i.Resources[0].Kind = shader.UniformBuffer },
		"name":       func(i *shader.Interface) { i.Resources[0].Name = "inn" },
		"binding":    func(i *shader.Interface) { i.Resources[1].Binding = 4 },
		"bytes":      func(i *shader.Interface) { i.Resources[0].Bytes = 8 },
		"fewer":      func(i *shader.Interface) { i.Resources = i.Resources[:1] },
	}
	for name, change := range changes {
		changed := base()
		change(&changed)
		if changed.Digest() == base().Digest() {
			t.Errorf("%s: same digest", name)
		}
	}
	swapped := base()
	swapped.Resources[0], swapped.Resources[1] = swapped.Resources[1], swapped.Resources[0]
	swapped.Sort()
	if swapped.Digest() != base().Digest() {
		t.Error("the order in which a driver lists resources changes the digest")
	}
}

func TestCounters(t *testing.T) {
	var one, sum Counters
	v := reflect.ValueOf(&one).Elem()
	for i := range v.NumField() {
		if f := v.Field(i); f.CanUint() {
			f.SetUint(uint64(i + 1))
		} else {
			f.SetInt(int64(i + 1))
		}
	}
	sum.Add(one)
	sum.Add(one)
	v = reflect.ValueOf(sum)
	for i := range v.NumField() {
		f := v.Field(i)
		if got := f.Convert(reflect.TypeFor[int64]()).Int(); got != int64(2*(i+1)) {
			t.Errorf("%s is %d after adding %d twice", v.Type().Field(i).Name, got, i+1)
		}
	}
	if rate := (Counters{ResidentHits: 1, MemoryHits: 1, DiskHits: 1, Compiles: 1}).HitRate(); rate != 0.75 {
		t.Errorf("hit rate %v, want 0.75", rate)
	}
	if rate := (Counters{}).HitRate(); rate != 0 {
		t.Errorf("hit rate %v of nothing, want 0", rate)
	}
}

// Contexts of another kind have another fingerprint and the same driver.
func TestSameDriver(t *testing.T) {
	version := func(versions ...string) (list []Fingerprint) {
		for _, v := range versions {
			f := testFingerprint
			f.Version = v
			list = append(list, f)
		}
		return list
	}
	mesa := version("4.5 (Core Profile) Mesa 22.3.6", "4.5 (Compatibility Profile) Mesa 22.3.6", "OpenGL ES 3.2 Mesa 22.3.6")
	mesa[1].Profile, mesa[2].Flags = 2, 1
	nvidia := version("4.6.0 NVIDIA 580.159.04", "OpenGL ES 3.2 NVIDIA 580.159.04")
	build := mesa[0]
	build.DriverBuild += "x"
	gpu := mesa[0]
	gpu.Renderer += "x"
	cpus := mesa[0]
	cpus.DriverBuild += " of other CPUs"
	mesa = append(mesa, cpus)
	drivers := [][]Fingerprint{mesa, nvidia, version("4.5 (Core Profile) Mesa 22.3.7"), version("4.6.0 NVIDIA 580.159.05"), {build}, {gpu}}
	for i, some := range drivers {
		for k, others := range drivers {
			for _, a := range some {
				for _, b := range others {
					if a.SameDriver(b) != (i == k) {
						t.Errorf("%q and %q: %v", a.Version, b.Version, a.SameDriver(b))
					}
				}
			}
		}
	}
}

// --other-drivers keeps what contexts of another kind use.
func TestPruneKeepsOtherKindsOfContexts(t *testing.T) {
	d := openTestDir(t)
	es := testFingerprint
	es.Profile++
	for _, f := range []Fingerprint{testFingerprint, es, otherFingerprint} {
		must(t, openTestStore(t, d, f).Identify())
	}
	if r, err := d.Prune(PruneOptions{OtherThan: []Fingerprint{testFingerprint}}); err != nil || r.Fingerprints != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
