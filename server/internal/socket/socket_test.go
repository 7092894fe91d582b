//go:build linux

package socket_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/socket"
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
		"another":  filepath.Join(dir, "another", "socket"), // user's
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
		case "another":
			if os.Getuid() != 0 {
				continue // only root can give it away
			}
			err = errors.Join(os.Mkdir(parent, 0o700), os.Chown(parent, 65534, -1))
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
		if _, err := socket.Map(int(f.Fd()), size); err == nil {
			t.Errorf("%d bytes were mapped", size)
		}
	}
	again, err := socket.Map(int(f.Fd()), 8192)
	if err != nil || again[8191] != 7 {
		t.Error(err)
	}
	_ = socket.Unmap(again)
}

// TestMemoryThatCouldBeTakenAway has huge pages, or no seal against shrinking.
func TestMemoryThatCouldBeTakenAway(t *testing.T) {
	for name, c := range map[string]struct{ flags, seals int }{
		"no seal": {unix.MFD_ALLOW_SEALING, unix.F_SEAL_GROW}, "huge pages": {unix.MFD_ALLOW_SEALING | unix.MFD_HUGETLB, unix.F_SEAL_SHRINK},
	} {
		fd, err := unix.MemfdCreate("test", c.flags)
		if err != nil {
			t.Logf("%s: %v", name, err) // a kernel without
			continue
		}
		defer unix.Close(fd)
		if err = unix.Ftruncate(fd, 1<<30); err == nil {
			_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, c.seals)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if _, err := socket.Map(fd, 4096); !errors.Is(err, socket.ErrUnsealed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMappingsAreBounded maps one memfd until that is refused: at the end of the mappings that
// the kernel allows, Go's heap could not grow and the process would end.
func TestMappingsAreBounded(t *testing.T) {
	text, err := os.ReadFile("/proc/sys/vm/max_map_count")
	if err != nil {
		t.Skip(err)
	}
	var allowed int
	if _, err := fmt.Sscan(string(text), &allowed); err != nil || allowed > 1<<18 {
		t.Skipf("the kernel allows %d mappings: %v", allowed, err)
	}
	f, memory, err := socket.NewMemory("test", 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := [][]byte{memory}
	for err == nil && len(all) < allowed*3/4 {
		if memory, err = socket.Map(int(f.Fd()), 4096); err == nil {
			all = append(all, memory)
		}
	}
	if !errors.Is(err, socket.ErrMappings) {
		t.Errorf("after %d of %d mappings: %v", len(all), allowed, err)
	}
	for _, memory := range all {
		if err := socket.Unmap(memory); err != nil {
			t.Fatal(err)
		}
	}
	if memory, err = socket.Map(int(f.Fd()), 4096); err != nil {
		t.Fatal(err)
	}
	_ = socket.Unmap(memory)
}
