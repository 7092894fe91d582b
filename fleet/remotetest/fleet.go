package remotetest

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/fleet"
	"github.com/shadercache/shadercache/shader"
)

var driver = binary.Fingerprint{
	Vendor: "Mesa", Renderer: "llvmpipe (LLVM 15.0.6, 256 bits)", Version: "4.5 (Core Profile) Mesa 22.3.6",
	GLSL: "4.50", Profile: 1, Formats: []uint32{0x875F}, PointerBits: 64,
}

// Fleet pushes programs from two machines to the remote of a URL, and pulls them to a third.
// Credentials are in the environment of the process.
func Fleet(t *testing.T, url string) {
	t.Helper()
	writer, reader := keyPair(url)
	last := machine(t)
	if _, err := on(t, last, reader).Pull(t.Context(), fleet.PullOptions{Current: &driver}); !errors.Is(err, fleet.ErrNotFound) {
		t.Errorf("pull from an empty remote: %v, not ErrNotFound", err)
	}
	for n := range 2 {
		report, err := on(t, machine(t, n), writer).Push(t.Context(), fleet.PushOptions{})
		if err != nil || report.Programs != 1 || report.Heads != 1 {
			t.Fatalf("push %d: %+v, %v", n, report, err)
		}
	}
	report, err := on(t, last, reader).Pull(t.Context(), fleet.PullOptions{Current: &driver})
	if err != nil || report.Programs != 2 {
		t.Fatalf("pull: %+v, %v", report, err)
	}
	store, err := last.Store(driver)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for n := range 2 {
		if _, err := store.Get(source(n).Key()); err != nil {
			t.Errorf("program %d: %v", n, err)
		}
	}
}

func on(t *testing.T, d *binary.Dir, o fleet.Options) *fleet.Remote {
	t.Helper()
	r, err := fleet.Open(d, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// machine returns a directory with programs of the driver.
func machine(t *testing.T, programs ...int) *binary.Dir {
	t.Helper()
	d, err := binary.OpenDir(filepath.Join(t.TempDir(), "cache"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range programs {
		putProgram(t, d, driver, n)
	}
	return d
}

// putProgram adds a program of a driver.
func putProgram(t *testing.T, d *binary.Dir, of binary.Fingerprint, n int) {
	t.Helper()
	store, err := d.Store(of)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Put(&binary.Blob{
		Key: source(n).Key(), Fingerprint: of.Digest(), Format: of.Formats[0],
		Payload: fmt.Appendf(nil, "binary of program %d", n), Name: source(n).Name(), WorkGroup: [3]uint32{64, 1, 1},
	})
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
}

func source(n int) *shader.Source {
	return shader.MustSource(fmt.Sprintf("scale_%d", n), fmt.Sprintf("void main() { /* %d */ }", n), nil)
}
