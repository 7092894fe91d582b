package binary

import (
	"bytes"
	"flag"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

var update = flag.Bool("update", false, "write the golden files")

// start is the time on the clock of a test directory.
var start = time.Date(2026, 3, 14, 15, 9, 26, 535897932, time.UTC)

var testFingerprint = Fingerprint{
	Vendor:      "NVIDIA Corporation",
	Renderer:    "NVIDIA H200/PCIe/SSE2",
	Version:     "4.6.0 NVIDIA 580.159.04",
	GLSL:        "4.60 NVIDIA",
	DriverUUID:  "0123456789abcdef",
	Profile:     1,
	Formats:     []uint32{0x8E21},
	PointerBits: 64,
}

var otherFingerprint = Fingerprint{
	Vendor:      "Mesa",
	Renderer:    "llvmpipe (LLVM 15.0.6, 256 bits)",
	Version:     "4.5 (Core Profile) Mesa 22.3.6",
	GLSL:        "4.50",
	Profile:     1,
	Formats:     []uint32{0x875F},
	PointerBits: 64,
}

// testPayload returns a payload like a driver's: text that compresses and does not repeat.
func testPayload(seed uint64, bytes int) []byte {
	random := rand.New(rand.NewPCG(seed, 1))
	var b strings.Builder
	b.WriteString("!!NVcp5.0\n")
	for b.Len() < bytes {
		b.WriteString([]string{"MOV.U R0.x, c[0];\n", "MAD.F R1, R2, R3, R1;\n", "LDB.F32 R4.x, sbo_buf0[R0.x];\n"}[random.IntN(3)])
	}
	return []byte(b.String()[:bytes])
}

func testKey(n int) shader.Key {
	return shader.MustSource("", "// program "+string(rune('a'+n%26))+strings.Repeat("x", n/26), nil).Key()
}

func testBlob(n int) *Blob {
	return &Blob{
		Key:          testKey(n),
		Fingerprint:  testFingerprint.Digest(),
		Format:       0x8E21,
		Payload:      testPayload(uint64(n), 4000),
		Name:         "conv2d_3x3_256x256",
		Created:      start,
		CompileNanos: 38_600_000,
		WorkGroup:    [3]uint32{16, 16, 1},
		Interface:    shader.Interface{WorkGroup: [3]uint32{16, 16, 1}}.Digest(),
	}
}

// openTestDir opens a new cache directory with a clock that does not advance. It fails
// the test if a temporary file is left in it.
func openTestDir(t testing.TB) *Dir {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cache")
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	d.now = func() time.Time { return start }
	t.Cleanup(func() {
		for _, file := range filesBelow(path) {
			if strings.HasPrefix(filepath.Base(file), ".") {
				t.Errorf("temporary file left behind: %s", file)
			}
		}
	})
	return d
}

func openTestStore(t testing.TB, d *Dir, f Fingerprint) *Store {
	t.Helper()
	s, err := d.Store(f)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// filesBelow lists the regular files below dir, relative to it.
func filesBelow(dir string) []string {
	var files []string
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	return files
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func putBlobs(t testing.TB, s *Store, blobs ...*Blob) {
	t.Helper()
	for _, b := range blobs {
		must(t, s.Put(b))
	}
}

func writeTestFile(t testing.TB, path string, data []byte, at time.Time) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, data, 0o600))
	must(t, os.Chtimes(path, at, at))
}

func checkGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -update after checking): got\n%.2000s\nwant\n%.2000s", path, got, want)
	}
}
