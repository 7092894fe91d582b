//go:build linux

package socket_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/server/socket"
)

func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scs")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func TestDefaultPath(t *testing.T) {
	for _, c := range []struct{ server, runtime, path, fails string }{
		{"auto", "/run/user/7", "/run/user/7/shadercache/socket", ""},
		{"start", "/run/user/7", "/run/user/7/shadercache/socket", ""},
		{"auto", "", "/tmp/shadercache-", ""},
		{"", "relative", "/tmp/shadercache-", ""},
		{"/a/b", "", "/a/b", ""},
		{"a/b", "/run/user/7", "", `SHADERCACHE_SERVER is "a/b": give an absolute path, auto, start or off`},
		{"off", "/run/user/7", "", "SHADERCACHE_SERVER is off"},
	} {
		t.Setenv(socket.EnvPath, c.server)
		t.Setenv("XDG_RUNTIME_DIR", c.runtime)
		path, err := socket.DefaultPath()
		if c.fails != "" && (err == nil || err.Error() != c.fails) {
			t.Errorf("%q: got the error %v, want %s", c.server, err, c.fails)
		}
		if c.fails == "" && (err != nil || !strings.HasPrefix(path, c.path)) {
			t.Errorf("%q: got %s, %v", c.server, path, err)
		}
	}
}

func TestDirectoriesThatAreNotPrivate(t *testing.T) {
	dir := privateDir(t)
	for name, path := range map[string]string{
		"readable": filepath.Join(dir, "readable", "socket"),
		"link":     filepath.Join(dir, "link", "socket"),
		"file":     filepath.Join(dir, "file", "socket"),
	} {
		parent := filepath.Dir(path)
		var err error
		switch name {
		case "readable":
			err = os.Mkdir(parent, 0o755)
		case "link":
			err = os.Symlink(t.TempDir(), parent)
		case "file":
			err = os.WriteFile(parent, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := socket.Listen(path); err == nil || name != "file" && !errors.Is(err, socket.ErrUnsafe) {
			t.Errorf("listen, %s: %v", name, err)
		}
		if _, err := socket.Dial(t.Context(), path); !errors.Is(err, socket.ErrUnsafe) {
			t.Errorf("dial, %s: %v", name, err)
		}
	}
}

func TestListenersExcludeEachOther(t *testing.T) {
	path := filepath.Join(privateDir(t), "shadercache", "socket")
	first, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := socket.Listen(path); !errors.Is(err, socket.ErrRunning) {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket was left: %v", err)
	}
	again, err := socket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := socket.Listen(path); err == nil {
		t.Error("a file was replaced")
	}
	if data, err := os.ReadFile(path); string(data) != "precious" {
		t.Error(err)
	}
}

func TestPathsThatNoSocketCanHave(t *testing.T) {
	for _, path := range []string{"relative", "", "/" + strings.Repeat("x", 108)} {
		if _, err := socket.Listen(path); err == nil {
			t.Errorf("listen on %.20q", path)
		}
		if _, err := socket.Dial(t.Context(), path); err == nil {
			t.Errorf("dial %.20q", path)
		}
	}
}

func TestMemoryCannotShrink(t *testing.T) {
	f, memory, err := socket.NewMemory("test", 8192)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	defer socket.Unmap(memory)
	if err := f.Truncate(0); err == nil {
		t.Error("it was truncated")
	}
	memory[8191] = 7
	for _, size := range []uint64{0, 8193, 1 << 63} {
		if _, err := socket.Map(f, size); err == nil {
			t.Errorf("%d bytes were mapped", size)
		}
	}
	again, err := socket.Map(f, 8192)
	if err != nil || again[8191] != 7 {
		t.Error(err)
	}
	_ = socket.Unmap(again)
}
