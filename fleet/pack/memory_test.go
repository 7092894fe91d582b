package pack

import (
	"bytes"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// allocated returns the bytes that f allocates, those of other goroutines included.
func allocated(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// bombs are manifests of 16 MiB that compress to a few kilobytes, by what they repeat.
func bombs(t testing.TB) map[string][]byte {
	t.Helper()
	whole, err := manifestOf().encode()
	must(t, err)
	repeat := func(head, unit, tail string) []byte {
		n := (16<<20 - len(head) - len(tail)) / len(unit)
		return []byte(head + strings.Repeat(unit, n) + tail)
	}
	head, _, _ := strings.Cut(string(whole), noFiles)
	file, err := fileOf(mesaFile, Mesa, []byte("x")).encode()
	must(t, err)
	start, _, _ := strings.Cut(head, `"fingerprints": [`)
	return map[string][]byte{
		"empty files":       repeat(head+"{}", ",{}", noFiles),
		"empty files, form": repeat(head+firstFile+"{}", nextFile+"{}", manifestEnd),
		"one file":          repeat(head+firstFile+string(file), nextFile+string(file), manifestEnd),
		"long path":         repeat(head+firstFile+"{\n   \"path\": \"", "a", "\"\n  }"+manifestEnd),
		"fingerprints":      repeat(start+`"fingerprints": [{}`, ",{}", "],"+filesStart+noFiles),
		"formats":           repeat(start+`"fingerprints": [{"fingerprint":{"formats":[0`, ",0", "]}}],"+filesStart+noFiles),
		"spaces":            repeat("{\"schema\":1", " ", "}"),
		"nested":            repeat("{\"schema\":1,\"x\":[0", ",[]", "]}"),
	}
}

// The memory of decoding a manifest and of importing a bundle follows the size of the
// valid content. With the race detector a bomb takes seconds, so that three kinds are
// tested each time, the others with SHADERCACHE_SOAK=1.
func TestBombsTakeLittleMemory(t *testing.T) {
	for name, bomb := range bombs(t) {
		t.Run(name, func(t *testing.T) {
			if !slices.Contains([]string{"one file", "formats", "nested"}, name) && os.Getenv("SHADERCACHE_SOAK") == "" {
				t.Skip("SHADERCACHE_SOAK=1 tests it")
			}
			var err error
			if n := allocated(func() { _, err = decodeManifest(bomb) }); n > 8<<20 || !errors.Is(err, ErrRefused) {
				t.Errorf("decoding allocated %d KiB: %v", n>>10, err)
			}
			data := sealedWithWindow(t, archive(t, plain(manifestName, bomb)), windowBytes)
			to := openDir(t)
			n := allocated(func() {
				_, err = Import(bytes.NewReader(data), to, ImportOptions{AnyDriver: true})
			})
			if n > 48<<20 || !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "unpack to more than") {
				t.Errorf("importing %d bytes allocated %d KiB: %v", len(data), n>>10, err)
			}
			wantEmpty(t, to)
		})
	}
}

// A file of zeros does not fill the disk.
func TestBombInAFile(t *testing.T) {
	zeros := make([]byte, unpackedSlack+8<<20)
	data := sealedWithWindow(t, handmadeArchive(t, manifestOf(fileOf(mesaFile, Mesa, zeros)), plain(mesaFile, zeros)), windowBytes)
	to := openDir(t)
	_, err := Import(bytes.NewReader(data), to, ImportOptions{AnyDriver: true, Trust: true})
	if !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "unpack to more than") {
		t.Errorf("%d bytes for %d: %v", len(data), len(zeros), err)
	}
	wantEmpty(t, to)
}
