package binary

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestOpenDirCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b", "cache")
	for range 2 {
		d, err := OpenDir(path)
		must(t, err)
		if d.Path() != path || d.DriverDir() != filepath.Join(path, "driver") {
			t.Errorf("path %q, driver %q", d.Path(), d.DriverDir())
		}
	}
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm()&0o077 != 0 {
		t.Errorf("created with mode %v", info.Mode())
	}
	if got := filesBelow(path); !slices.Equal(got, []string{"CACHEDIR.TAG", "README.md"}) {
		t.Errorf("files %q", got)
	}
	tag, err := os.ReadFile(filepath.Join(path, "CACHEDIR.TAG"))
	must(t, err)
	if !strings.HasPrefix(string(tag), "Signature: 8a477f597d28d172789f06886806bc55\n") {
		t.Errorf("tag %q", tag)
	}
}

func TestOpenDirKeepsFilesOfTheUser(t *testing.T) {
	path := t.TempDir()
	must(t, os.Chmod(path, 0o755))
	readme := filepath.Join(path, "README.md")
	must(t, os.WriteFile(readme, []byte("user"), 0o644))
	_, err := OpenDir(path + "/./")
	must(t, err)
	if got, _ := os.ReadFile(readme); string(got) != "user" {
		t.Errorf("README.md became %q", got)
	}
}

func TestOpenDirRefuses(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	dir := filepath.Join(base, "dir")
	must(t, os.Mkdir(dir, 0o700))
	link := filepath.Join(base, "link")
	must(t, os.Symlink(dir, link))
	dangling := filepath.Join(base, "dangling")
	must(t, os.Symlink(filepath.Join(base, "nowhere"), dangling))
	for path, want := range map[string]string{
		file:       "is not a directory",
		link:       "is a symbolic link",
		link + "/": "is a symbolic link",
		dangling:   "is a symbolic link",
	} {
		_, err := OpenDir(path)
		if !errors.Is(err, ErrUnsafeDir) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "; ") {
			t.Errorf("%s: got %v, want ErrUnsafeDir with %q and a hint", path, err, want)
		}
	}
	if _, err := OpenDir(filepath.Join(file, "below")); err == nil || errors.Is(err, ErrUnsafeDir) {
		t.Errorf("below a file: got %v", err)
	}
	if _, err := OpenDir(""); !errors.Is(err, ErrNoDir) {
		t.Errorf("empty path: got %v, want ErrNoDir", err)
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("SHADERCACHE_DIR", "/somewhere")
	if got, err := defaultDir(); got != "/somewhere" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	t.Setenv("SHADERCACHE_DIR", "")
	base := t.TempDir()
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, base)
	}
	got, err := defaultDir()
	must(t, err)
	if !strings.HasPrefix(got, base) || filepath.Base(got) != "shadercache" {
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "LocalAppData"} {
		t.Setenv(name, "")
	}
	if _, err := defaultDir(); !errors.Is(err, ErrNoDir) || !strings.Contains(err.Error(), "SHADERCACHE_DIR") {
		t.Errorf("without a home: got %v, want ErrNoDir with a hint", err)
	}
}

func TestFingerprints(t *testing.T) {
	d := openTestDir(t)
	if got, err := d.Fingerprints(); len(got) != 0 || err != nil {
		t.Errorf("a new directory has %v, %v", got, err)
	}
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1), testBlob(2))
	other := testBlob(3)
	other.Fingerprint = otherFingerprint.Digest()
	putBlobs(t, openTestStore(t, d, otherFingerprint), other)
	must(t, os.MkdirAll(filepath.Join(d.path, "photos-12345678", "docs"), 0o700))
	must(t, os.MkdirAll(filepath.Join(d.path, "driver", "nvidia"), 0o700))

	got, err := d.Fingerprints()
	must(t, err)
	if len(got) != 2 {
		t.Fatalf("got %+v", got)
	}
	first := got[0]
	if first.Label != "NVIDIA_H200" || first.Dir != testFingerprint.DirName() || first.Digest != testFingerprint.Digest() ||
		first.Fingerprint.Digest() != testFingerprint.Digest() || first.Programs != 2 || first.RawBytes != 8000 ||
		first.BlobBytes <= 0 || first.BlobBytes >= 8000 {
		t.Errorf("got %+v", first)
	}
	if got[1].Label != "llvmpipe" || got[1].Programs != 1 {
		t.Errorf("got %+v", got[1])
	}

	wantDrivers(t, d, got)

	must(t, os.WriteFile(filepath.Join(s.path, fingerprintName), []byte("{"), 0o600))
	got, err = d.Fingerprints()
	must(t, err)
	if first := got[0]; first.Digest != testFingerprint.Digest() || first.Fingerprint.Vendor != "" || first.Programs != 2 {
		t.Errorf("with a damaged fingerprint.json: got %+v", first)
	}
	wantDrivers(t, d, got)
	must(t, s.Record(nil, Counters{DiskHits: 1}))
	got, err = d.Fingerprints()
	must(t, err)
	if got[0].Fingerprint.Digest() != testFingerprint.Digest() {
		t.Errorf("fingerprint.json was not repaired: %+v", got[0])
	}
}

// wantDrivers checks that Drivers returns infos without the counts.
func wantDrivers(t *testing.T, d *Dir, infos []FingerprintInfo) {
	t.Helper()
	got, err := d.Drivers()
	must(t, err)
	if len(got) != len(infos) {
		t.Fatalf("got %+v", got)
	}
	for n, want := range infos {
		want.Programs, want.BlobBytes, want.RawBytes = 0, 0, 0
		if !reflect.DeepEqual(got[n], want) {
			t.Errorf("got %+v, want %+v", got[n], want)
		}
	}
}

func TestDriverBytes(t *testing.T) {
	d := openTestDir(t)
	if got := d.DriverBytes(); got != 0 {
		t.Errorf("%d bytes without a driver directory", got)
	}
	writeTestFile(t, filepath.Join(d.DriverDir(), "nvidia", "x", "app0.bin"), make([]byte, 100), start)
	writeTestFile(t, filepath.Join(d.DriverDir(), "mesa", "index"), make([]byte, 11), start)
	if got := d.DriverBytes(); got != 100 {
		t.Errorf("%d bytes, want 100: no limit counts Mesa's index", got)
	}
}
