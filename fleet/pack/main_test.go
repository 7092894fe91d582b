package pack

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

var (
	start = time.Date(2026, 3, 14, 15, 9, 26, 535897932, time.UTC)

	nvidiaFingerprint = binary.Fingerprint{
		Vendor:      "NVIDIA Corporation",
		Renderer:    "NVIDIA H200/PCIe/SSE2",
		Version:     "4.6.0 NVIDIA 580.159.04",
		GLSL:        "4.60 NVIDIA",
		Profile:     1,
		Formats:     []uint32{0x8E21},
		PointerBits: 64,
	}
	mesaFingerprint = binary.Fingerprint{
		Vendor:      "Mesa",
		Renderer:    "llvmpipe (LLVM 15.0.6, 256 bits)",
		Version:     "4.5 (Core Profile) Mesa 22.3.6",
		GLSL:        "4.50",
		Profile:     1,
		Formats:     []uint32{0x875F},
		PointerBits: 64,
	}
)

const (
	slotFolder = "driver/nvidia/GLCache/00112233445566778899aabbccddeeff/0123456789abcdef"
	mesaFile   = "driver/mesa/mesa_shader_cache/5e/884898da28047151d0e56f8dc6292773603d0d"
	mesaIndex  = "driver/mesa/mesa_shader_cache/index"
)

// childEnvironment makes the test binary run one of the children below.
const childEnvironment = "BUNDLE_TEST_CHILD"

// children are functions that the test binary runs as a child process, with the cache
// directory and a file as arguments.
var children = map[string]func(dir, file string) error{}

func TestMain(m *testing.M) {
	if child, ok := children[os.Getenv(childEnvironment)]; ok {
		if err := child(os.Getenv("BUNDLE_TEST_DIR"), os.Getenv("BUNDLE_TEST_FILE")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func childEnv(name, dir, file string) []string {
	return append(os.Environ(), childEnvironment+"="+name, "BUNDLE_TEST_DIR="+dir, "BUNDLE_TEST_FILE="+file)
}

func testSource(n int) *shader.Source {
	return shader.MustSource(fmt.Sprintf("scale_%d", n), fmt.Sprintf("void main() { /* %d */ }", n)+strings.Repeat("\n// scale", 50), nil)
}

func testBlob(n int, of binary.Fingerprint) *binary.Blob {
	return &binary.Blob{
		Key:          testSource(n).Key(),
		Fingerprint:  of.Digest(),
		Format:       of.Formats[0],
		Payload:      []byte(strings.Repeat("MOV.U R0.x, c[0];\n", 3) + fmt.Sprint(n)),
		Name:         testSource(n).Name(),
		Created:      start.Add(time.Duration(n) * time.Second),
		CompileNanos: 38_600_000,
		WorkGroup:    [3]uint32{64, 1, 1},
	}
}

// nvidiaSlot returns a slot with one record for each number.
func nvidiaSlot(numbers ...byte) (toc, bin []byte) {
	header := append([]byte("CDVN\x00\x00\x03\x00"), bytes.Repeat([]byte{7}, 24)...)
	toc, bin = bytes.Clone(header), bytes.Clone(header)
	for _, n := range numbers {
		id := bytes.Repeat([]byte{n}, 16)
		size := []byte{4, 0, 0, 0}
		toc = append(append(append(toc, id...), byte(len(bin)), byte(len(bin)>>8), 0, 0), size...)
		bin = append(append(append(append(bin, 1, 2, 3, 4), id...), 5, 6, 7, 8, 9, 10, 11, 12), size...)
		bin = append(bin, "code"...)
	}
	return toc, bin
}

func openDir(t testing.TB) *binary.Dir {
	t.Helper()
	d, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	must(t, err)
	return d
}

// filledDir returns a directory with programs of two drivers, driver files and sources.
func filledDir(t testing.TB) *binary.Dir {
	t.Helper()
	d := openDir(t)
	put(t, d, nvidiaFingerprint, 1, 2)
	put(t, d, mesaFingerprint, 1)
	must(t, d.PutSource(testSource(1)))
	for n, numbers := range [][]byte{{1, 2}, {3}} {
		toc, bin := nvidiaSlot(numbers...)
		writeFile(t, d, fmt.Sprintf("%s/shadercache%d.toc", slotFolder, n), toc)
		writeFile(t, d, fmt.Sprintf("%s/shadercache%d.bin", slotFolder, n), bin)
	}
	writeFile(t, d, mesaFile, []byte("machine code"))
	writeFile(t, d, mesaIndex, make([]byte, 64))
	return d
}

func put(t testing.TB, d *binary.Dir, of binary.Fingerprint, numbers ...int) {
	t.Helper()
	s, err := d.Store(of)
	must(t, err)
	for _, n := range numbers {
		must(t, s.Put(testBlob(n, of)))
	}
	must(t, s.Close())
}

func writeFile(t testing.TB, d *binary.Dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(d.Path(), filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, data, 0o600))
}

func exported(t testing.TB, d *binary.Dir, o ExportOptions) []byte {
	t.Helper()
	var b bytes.Buffer
	_, err := Export(&b, d, o)
	must(t, err)
	return b.Bytes()
}

// tree returns the content of the files below a directory by path, without the files
// that describe the directory.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[filepath.ToSlash(name)] = string(data)
		return err
	}))
	for _, name := range []string{"README.md", "CACHEDIR.TAG", "cache_stats.json", ".import.lock", "driver.lock"} {
		delete(files, name)
	}
	maps.DeleteFunc(files, func(name, _ string) bool {
		base := filepath.Base(name)
		return base == "manifest.json" || base == "index.db" || base == "index.sum"
	})
	return files
}

// wantEmpty checks that an import had no effect and left nothing.
func wantEmpty(t testing.TB, d *binary.Dir) {
	t.Helper()
	if files := tree(t, d.Path()); len(files) != 0 {
		t.Errorf("files were left: %q", slices.Sorted(maps.Keys(files)))
	}
	if _, err := os.Lstat(filepath.Join(d.Path(), stagingName)); err == nil {
		t.Error("the staging folder was left")
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// exportFile is Export to a file, as the command does it.
func exportFile(path string, dir *binary.Dir, o ExportOptions) (r ExportReport, err error) {
	err = osfile.WriteOutput(path, 0o600, func(w io.Writer) error {
		r, err = Export(w, dir, o)
		return err
	})
	return r, err
}
