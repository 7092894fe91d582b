package browsertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// names are those of Chromium's executable; the first, without a screen's parts, is what
// scripts/deps installs.
var names = []string{"chromium-headless-shell", "chromium", "google-chrome"}

// Browser is a running browser. It ends with the test that opened it.
type Browser struct {
	t    testing.TB
	pipe *pipe
}

// starts is how often Open tries: Chromium crashes at its start now and then, on a busy machine.
const starts = 3

// Open starts a browser with a profile of its own.
func Open(t testing.TB) *Browser {
	t.Helper()
	for try := 1; ; try++ {
		b := start(t)
		err := b.pipe.call("", "Target.createTarget", map[string]any{"url": "about:blank"}, nil)
		if err == nil {
			return b
		}
		if try == starts {
			t.Fatalf("the browser does not start: %v", err)
		}
	}
}

func start(t testing.TB) *Browser {
	t.Helper()
	path := find(t)
	fromUs, toBrowser := newFiles(t)
	fromBrowser, toUs := newFiles(t)
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
		"--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--force-color-profile=srgb",
		"--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // handles 3 and 4, as the browser expects them
	// Its own files are not those of the test: fonts are looked up once.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	fromUs.Close()
	toUs.Close()
	b := &Browser{t, newPipe(fromBrowser, toBrowser)}
	t.Cleanup(func() {
		_ = b.pipe.call("", "Browser.close", struct{}{}, nil) // it may have ended
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		toBrowser.Close()
		fromBrowser.Close()
		if t.Failed() {
			t.Logf("the browser's log:\n%s", log.Bytes())
		}
	})
	return b
}

// newFiles returns the ends of a pipe.
func newFiles(t testing.TB) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return read, write
}

// find returns the path of a browser, or ends the test.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, "no Chromium is installed (hint: scripts/deps browser)")
	return ""
}

// Missing skips the test, or fails it where everything has to be there.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("SHADERCACHE_REQUIRE_GL") != "" || os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// FileURL returns the URL of a file.
func FileURL(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + path
}
