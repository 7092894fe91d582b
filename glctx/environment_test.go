//go:build linux && cgo

package glctx_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/shader"
)

// A driver reads its environment once, so every case below runs in a child process:
// this test executable, with childDir set.
const childDir = "GLCTX_TEST_CHILD_DIR"

func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		return
	}
	c, err := glctx.Open(glctx.Options{CacheDir: dir, DriverCacheOff: os.Getenv("GLCTX_TEST_OFF") != ""})
	switch {
	case errors.Is(err, glctx.ErrNoDriver):
		fmt.Println("outcome: no driver:", err)
		return
	case errors.Is(err, glctx.ErrTooOld):
		fmt.Println("outcome: too old:", err)
		return
	case err != nil:
		t.Fatal(err)
	}
	defer c.Close()
	c.Compile(context.Background(), []*shader.Source{shader.MustSource("two", doubler, shader.Defines{"FACTOR": "2.0"})},
		func(_ int, p shader.Program, err error) {
			if err != nil {
				t.Fatal(err)
			}
			wantTimes(t, run(t, c, p.ID), 2)
			c.Delete(p.ID)
		})
	fmt.Printf("outcome: formats %d, driver cache %v\n", len(c.Fingerprint().Formats), c.DriverCache())
}

// child runs TestChild with additional environment and returns its outcome line.
func child(t *testing.T, dir string, environment ...string) string {
	t.Helper()
	return childOf(t, "TestChild", append([]string{childDir + "=" + dir}, environment...)...)
}

// childOf runs a test in a process of its own and returns its outcome line.
func childOf(t *testing.T, test string, environment ...string) string {
	t.Helper()
	gltest.Open(t) // skips or fails without a driver
	cmd := exec.Command(os.Args[0], "-test.run=^"+test+"$", "-test.v")
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "MESA_") && !strings.HasPrefix(v, "__GL_") && !strings.HasPrefix(v, "SHADERCACHE_DRIVER_DIR") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, environment...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, outcome, found := strings.Cut(string(out), "outcome: ")
	if !found {
		t.Fatalf("no outcome in\n%s", out)
	}
	outcome, _, _ = strings.Cut(outcome, "\n")
	return outcome
}

func filesBelow(t *testing.T, dir string) int {
	t.Helper()
	n := 0
	filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return nil
	})
	return n
}

func wantIn(t *testing.T, outcome string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(outcome, part) {
			t.Errorf("%q is not in %q", part, outcome)
		}
	}
}

func TestDriverCacheIsInTheCacheDirectory(t *testing.T) {
	dir := t.TempDir()
	wantIn(t, child(t, dir), "formats 1", "managed in "+dir+"/driver")
	if filesBelow(t, filepath.Join(dir, "driver")) == 0 {
		t.Error("the driver wrote nothing into its directory")
	}
}

func TestDriverCacheSettingsOfTheUserArePreserved(t *testing.T) {
	dir, users := t.TempDir(), t.TempDir()
	wantIn(t, child(t, dir, "MESA_SHADER_CACHE_DIR="+users, "__GL_SHADER_DISK_CACHE_PATH="+users),
		"not managed: set by the user", "="+users) // the variable of the driver that is here
	if filesBelow(t, filepath.Join(dir, "driver")) != 0 || filesBelow(t, users) == 0 {
		t.Error("the driver did not write to the user's directory")
	}
}

func TestDriverCacheSettingsOfAParentAreReplaced(t *testing.T) {
	dir, parents := t.TempDir(), t.TempDir()
	outcome := child(t, dir, "SHADERCACHE_DRIVER_DIR="+parents, "MESA_SHADER_CACHE_DIR="+filepath.Join(parents, "mesa"))
	wantIn(t, outcome, "managed in "+dir+"/driver")
	if strings.Contains(outcome, "set by the user") || filesBelow(t, parents) != 0 {
		t.Errorf("a setting of the parent process was taken for the user's: %s", outcome)
	}
}

func TestDriverCacheOff(t *testing.T) {
	dir, users := t.TempDir(), t.TempDir()
	wantIn(t, child(t, dir, "GLCTX_TEST_OFF=1", "MESA_SHADER_CACHE_DIR="+users), "not managed: turned off")
	if filesBelow(t, dir) != 0 {
		t.Error("files were written although the driver cache is off")
	}
}

// Mesa 25 has formats then, and other drivers do not read the variable.
func TestMesa22WithItsCacheDisabledHasNoFormats(t *testing.T) {
	want := "formats 1"
	if strings.Contains(gltest.Open(t).Info().Driver, "Mesa 22.") {
		want = "formats 0"
	}
	wantIn(t, child(t, t.TempDir(), "MESA_SHADER_CACHE_DISABLE=true"), want)
}

func TestNoDriver(t *testing.T) {
	outcome := child(t, t.TempDir(), "__EGL_VENDOR_LIBRARY_FILENAMES=/nonexistent.json")
	wantIn(t, outcome, "no driver:", "libegl-mesa0", "libgl1-mesa-dri")
}

func TestTooOld(t *testing.T) {
	outcome := child(t, t.TempDir(), "MESA_GL_VERSION_OVERRIDE=3.3")
	if gltest.Open(t).Info().Software() { // another driver does not read the variable
		wantIn(t, outcome, "too old:", "4.5")
	}
}
