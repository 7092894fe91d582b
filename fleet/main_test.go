package fleet_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	_ "github.com/shadercache/shadercache/fleet/file"
	"github.com/shadercache/shadercache/shader"
)

var (
	start = time.Date(2026, 3, 14, 15, 9, 26, 535897932, time.UTC)

	nvidiaDriver = binary.Fingerprint{
		Vendor:      "NVIDIA Corporation",
		Renderer:    "NVIDIA H200/PCIe/SSE2",
		Version:     "4.6.0 NVIDIA 580.159.04",
		GLSL:        "4.60 NVIDIA",
		Profile:     1,
		Formats:     []uint32{0x8E21},
		PointerBits: 64,
	}
	mesaDriver = binary.Fingerprint{
		Vendor:      "Mesa",
		Renderer:    "llvmpipe (LLVM 15.0.6, 256 bits)",
		Version:     "4.5 (Core Profile) Mesa 22.3.6",
		GLSL:        "4.50",
		Profile:     1,
		Formats:     []uint32{0x875F},
		PointerBits: 64,
	}
)

const slotFolder = "driver/nvidia/GLCache/00112233445566778899aabbccddeeff/0123456789abcdef"

// keyPair returns a key that is the same in each process.
func keyPair(n byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

// writer returns the options of a process that pushes.
func writer(url string) fleet.Options {
	_, private := keyPair(1)
	return fleet.Options{URL: url, Mode: fleet.ReadWrite, SignKey: private, Budget: time.Minute}
}

// reader returns the options of a process that pulls.
func reader(url string) fleet.Options {
	public, _ := keyPair(1)
	return fleet.Options{URL: url, Mode: fleet.Read, Keys: []ed25519.PublicKey{public}, Budget: time.Minute}
}

func testSource(n int) *shader.Source {
	return shader.MustSource(fmt.Sprintf("scale_%d", n), fmt.Sprintf("void main() { /* %d */ }", n), nil)
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

// put adds programs with their machine code to a directory.
func put(t testing.TB, d *binary.Dir, of binary.Fingerprint, numbers ...int) {
	t.Helper()
	s, err := d.Store(of)
	must(t, err)
	for _, n := range numbers {
		must(t, s.Put(testBlob(n, of)))
	}
	must(t, s.Close())
	if of.Vendor == "Mesa" {
		for _, n := range numbers {
			writeFile(t, d, fmt.Sprintf("driver/mesa/mesa_shader_cache/%02x/%038x", n%256, n), fmt.Appendf(nil, "code %d", n))
		}
	} else {
		putSlot(t, d, numbers...)
	}
}

// putSlot adds an NVIDIA slot with one record for each number.
func putSlot(t testing.TB, d *binary.Dir, numbers ...int) {
	t.Helper()
	for n := 0; ; n++ {
		name := fmt.Sprintf("%s/shadercache%d", slotFolder, n)
		if _, err := os.Lstat(filepath.Join(d.Path(), name+".toc")); err == nil {
			continue
		}
		toc, bin := nvidiaSlot(numbers...)
		writeFile(t, d, name+".toc", toc)
		writeFile(t, d, name+".bin", bin)
		return
	}
}

// nvidiaSlot returns a slot with one record for each number.
func nvidiaSlot(numbers ...int) (toc, bin []byte) {
	header := append([]byte("CDVN\x00\x00\x03\x00"), bytes.Repeat([]byte{7}, 24)...)
	toc, bin = bytes.Clone(header), bytes.Clone(header)
	for _, n := range numbers {
		id := fmt.Appendf(nil, "%016d", n)
		size := []byte{4, 0, 0, 0}
		at := len(bin)
		toc = append(append(append(toc, id...), byte(at), byte(at>>8), byte(at>>16), 0), size...)
		bin = append(append(append(append(bin, 1, 2, 3, 4), id...), 5, 6, 7, 8, 9, 10, 11, 12), size...)
		bin = append(bin, "code"...)
	}
	return toc, bin
}

func writeFile(t testing.TB, d *binary.Dir, name string, data []byte) {
	t.Helper()
	path := filepath.Join(d.Path(), filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, data, 0o600))
}

func openDir(t testing.TB) *binary.Dir {
	t.Helper()
	d, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	must(t, err)
	return d
}

func open(t testing.TB, d *binary.Dir, o fleet.Options) *fleet.Remote {
	t.Helper()
	r, err := fleet.Open(d, o)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

// fileURL returns the URL of a new directory.
func fileURL(t testing.TB) string { return "file://" + filepath.ToSlash(t.TempDir()) + "/store" }

func push(t testing.TB, d *binary.Dir, o fleet.Options) fleet.PushReport {
	t.Helper()
	report, err := open(t, d, o).Push(context.Background(), fleet.PushOptions{})
	must(t, err)
	return report
}

func pull(t testing.TB, d *binary.Dir, o fleet.Options, driver binary.Fingerprint) fleet.PullReport {
	t.Helper()
	report, err := open(t, d, o).Pull(context.Background(), fleet.PullOptions{Current: &driver})
	must(t, err)
	return report
}

// wantPrograms checks that a directory has exactly these programs of a driver, each whole.
func wantPrograms(t testing.TB, d *binary.Dir, of binary.Fingerprint, numbers ...int) {
	t.Helper()
	s, err := d.Store(of)
	must(t, err)
	if got := len(slices.Collect(s.ByName())); got != len(numbers) {
		t.Errorf("the directory has %d programs of %s, want %d", got, of.Label(), len(numbers))
	}
	for _, n := range numbers {
		if _, err := s.Get(testSource(n).Key()); err != nil {
			t.Errorf("program %d: %v", n, err)
		}
	}
}

// files returns the files below a folder, with slashes.
func files(t testing.TB, folder string) (names []string) {
	t.Helper()
	must(t, filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			name, _ := filepath.Rel(folder, path)
			names = append(names, filepath.ToSlash(name))
		}
		return err
	}))
	return names
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func readFile(t testing.TB, d *binary.Dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(d.Path(), filepath.FromSlash(name)))
	must(t, err)
	return data
}

func keysOf(numbers ...int) (keys []shader.Key) {
	for _, n := range numbers {
		keys = append(keys, testSource(n).Key())
	}
	return keys
}
