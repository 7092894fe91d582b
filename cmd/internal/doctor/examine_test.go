package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// level returns the level of the last finding of a check, or "".
func level(r *Report, check string) (level string) {
	for _, f := range r.Findings {
		if f.Check == check {
			level = f.Level
		}
	}
	return level
}

func TestExamineAnEmptyCache(t *testing.T) {
	gltest.Open(t)
	t.Setenv("SHADERCACHE_UPSTREAM", "")
	dir := filepath.Join(t.TempDir(), "cache")
	o := &cli.Options{Dir: dir, Stderr: os.Stderr}
	r := Examine(o)
	if !r.Good || r.Verdict() != nil || r.Dir != dir {
		t.Fatalf("%+v", r)
	}
	for check, want := range map[string]string{
		directoryCheck: LevelGood, "driver": LevelGood, "driver_cache": LevelNote, "programs": LevelGood, "hits": LevelNote, "upstream": "",
	} {
		if got := level(r, check); got != want {
			t.Errorf("%s is %q, want %q", check, got, want)
		}
	}
	var out strings.Builder
	r.Print(&out)
	if text := out.String(); !strings.Contains(text, "good\tprograms\t0 programs") || !strings.Contains(text, "  fix: shadercache --driver-cache on doctor\n") {
		t.Errorf("%s", text)
	}
}

func TestExamineABadEnvironment(t *testing.T) {
	gltest.Open(t)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHADERCACHE_UPSTREAM", filepath.Join(file, "missing"))
	t.Setenv("MESA_SHADER_CACHE_MAX_SIZE", "1M")
	r := Examine(&cli.Options{Dir: file, Device: "99", Stderr: os.Stderr})
	if r.Good || r.Verdict() == nil {
		t.Fatalf("%+v", r)
	}
	for _, check := range []string{directoryCheck, "driver", "upstream"} {
		if got := level(r, check); got != LevelWrong {
			t.Errorf("%s is %q", check, got)
		}
	}
	found := environmentFindings()
	if len(found) != 1 || found[0].Fix != "unset MESA_SHADER_CACHE_MAX_SIZE" {
		t.Errorf("%+v", found)
	}
}

// A cache size without a unit is bytes for NVIDIA and gigabytes for Mesa.
func TestCacheSize(t *testing.T) {
	for _, c := range []struct {
		name, value string
		want        int64
	}{
		{"__GL_SHADER_DISK_CACHE_SIZE", "1000", 1000},
		{"MESA_SHADER_CACHE_MAX_SIZE", "1", 1 << 30},
		{"MESA_SHADER_CACHE_MAX_SIZE", "16K", 16 << 10},
	} {
		if got, ok := cacheSize(c.name, c.value); !ok || got != c.want {
			t.Errorf("%s=%s: %d, %v", c.name, c.value, got, ok)
		}
	}
	if _, ok := cacheSize("MESA_SHADER_CACHE_MAX_SIZE", ""); ok {
		t.Error("no size was read as one")
	}
}

// The fix of an unsafe directory changes as little as possible.
func TestFixUnsafe(t *testing.T) {
	dir := t.TempDir()
	open := filepath.Join(dir, "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	linked := filepath.Join(dir, "with a link")
	if err := os.Mkdir(linked, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{filepath.Join(dir, "link"), filepath.Join(linked, "driver")} {
		if err := os.Symlink(open, link); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		open:                          "chmod 700 " + open,
		filepath.Join(dir, "link"):    `export SHADERCACHE_DIR="$(readlink -f ` + filepath.Join(dir, "link") + `)"`,
		linked:                        "rm '" + filepath.Join(linked, "driver") + "'",
		filepath.Join(dir, "missing"): "elsewhere",
	} {
		if got := fixUnsafe(path, "elsewhere"); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	t.Setenv("HOME", dir)
	if got := otherDirectory("/x"); !strings.Contains(got, "$HOME/.cache/shadercache") {
		t.Error(got)
	}
	if got := otherDirectory(filepath.Join(dir, ".cache", "shadercache")); got != anyDirectory {
		t.Error(got)
	}
}
