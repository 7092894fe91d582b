//go:build unix

package binary

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// otherUser is neither root nor this user.
var otherUser = os.Geteuid() + 12345

var ofOtherUser = fmt.Sprintf("user %d", otherUser)

// giveAway makes a folder of another user, or skips the test where only root could.
func giveAway(t *testing.T, path string) {
	t.Helper()
	must(t, os.MkdirAll(path, 0o755))
	if err := os.Chown(path, otherUser, -1); err != nil {
		t.Skip("only root can give a folder away: ", err)
	}
}

func wantUnsafe(t *testing.T, path, reason string) {
	t.Helper()
	if _, err := OpenDir(path); !errors.Is(err, ErrUnsafeDir) || !strings.Contains(err.Error(), reason) {
		t.Errorf("got %v, want ErrUnsafeDir with %q", err, reason)
	}
}

func TestOpenDirRefusesParentsOfOthers(t *testing.T) {
	top := t.TempDir()
	others := filepath.Join(top, "others")
	giveAway(t, others)
	wantUnsafe(t, filepath.Join(others, "cache"), "can be replaced by "+ofOtherUser+", to whom "+others)
	wantUnsafe(t, filepath.Join(others, "a", "cache"), "can be replaced by "+ofOtherUser)
	if users, _ := os.ReadFile("/proc/self/uid_map"); slices.Equal(strings.Fields(string(users)), []string{"0", "0", "4294967295"}) {
		must(t, os.Chown(others, 65534, -1)) // a user as others are, where none is outside the namespace
		wantUnsafe(t, filepath.Join(others, "cache"), "can be replaced by user 65534")
		must(t, os.Chown(others, otherUser, -1))
	}
	link := filepath.Join(top, "link")
	must(t, os.Symlink(filepath.Join(others, "a"), link))
	wantUnsafe(t, filepath.Join(link, "cache"), "can be replaced by "+ofOtherUser)
}

func TestOpenDirRefusesParentsThatAllCanWrite(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "parent")
	must(t, os.Mkdir(parent, 0o700))
	must(t, os.Chmod(parent, 0o777))
	wantUnsafe(t, filepath.Join(parent, "cache"), "chmod o-w "+parent)
	must(t, os.Chmod(parent, 0o777|os.ModeSticky)) // as /tmp
	_, err := OpenDir(filepath.Join(parent, "cache"))
	must(t, err)
}

// Each folder of a driver is checked, at both levels, and none is a link.
func TestOpenDirRefusesDriverFoldersOfOthers(t *testing.T) {
	for _, folder := range []string{"nvidia", "mesa", "mesa/mesa_shader_cache", "nvidia/GLCache"} {
		d := openTestDir(t)
		path := filepath.Join(d.DriverDir(), filepath.FromSlash(folder))
		must(t, os.MkdirAll(path, 0o700))
		must(t, os.Chmod(path, 0o777))
		wantUnsafe(t, d.Path(), path+" can be written by others")
		must(t, os.Chmod(path, 0o700))
		_, err := OpenDir(d.Path())
		must(t, err)
		must(t, os.Rename(path, path+".real"))
		must(t, os.Symlink(path+".real", path))
		wantUnsafe(t, d.Path(), path+" is a symbolic link")
		must(t, os.Remove(path))
		giveAway(t, path)
		wantUnsafe(t, d.Path(), "belongs to "+ofOtherUser)
	}
}

// usersEnvironment makes a process of the test the other of two users.
const usersEnvironment = "BINARY_TEST_OTHER_USER"

// TestTwoUsers lets another user of the machine try each place of a directory of mode
// 0700. Without root it needs a range of users in /etc/subuid, and newuidmap.
func TestTwoUsers(t *testing.T) {
	if path := os.Getenv(usersEnvironment); path != "" {
		tryPlaces(path)
		return
	}
	d := openTestDir(t)
	s := openTestStore(t, d, testFingerprint)
	putBlobs(t, s, testBlob(1))
	for _, folder := range []string{d.DriverDir(), filepath.Join(d.path, sourcesName)} {
		must(t, os.MkdirAll(folder, 0o700))
	}
	for parent := filepath.Dir(d.path); parent != os.TempDir() && len(parent) > 1; parent = filepath.Dir(parent) {
		must(t, os.Chmod(parent, 0o755)) // so that the other user reaches the directory
	}
	executable, err := os.Executable()
	must(t, err)
	public := filepath.Join(filepath.Dir(d.path), "test")
	data, err := os.ReadFile(executable)
	must(t, err)
	must(t, os.WriteFile(public, data, 0o755))
	cmd := asOtherUser(public, "-test.run=^TestTwoUsers$")
	cmd.Env = append(os.Environ(), usersEnvironment+"="+d.path)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "place ") {
		t.Skipf("no second user here: %v %s", err, out)
	}
	if strings.Contains(string(out), "place open") || !strings.Contains(string(out), "place closed") {
		t.Errorf("%s", out)
	}
	if _, err := s.Get(testKey(1)); err != nil {
		t.Error(err)
	}
}

// asOtherUser returns a command of another user: by setpriv as root, else in a user
// namespace, whose users are those of the range that /etc/subuid gives to this user.
func asOtherUser(name string, args ...string) *exec.Cmd {
	if os.Geteuid() == 0 {
		user := strconv.Itoa(otherUser)
		return exec.Command("setpriv", append([]string{"--reuid", user, "--regid", user, "--clear-groups", name}, args...)...)
	}
	return exec.Command("unshare", append([]string{"--user", "--map-auto", "--setuid", "1", name}, args...)...)
}

// tryPlaces prints for each place whether this user can read, write or replace it.
func tryPlaces(path string) {
	for _, place := range []string{"", "driver", "driver/mesa", "sources", testFingerprint.DirName(), testFingerprint.DirName() + "/blobs", "index.db", "driver.lock"} {
		at := filepath.Join(path, place)
		_, readErr := os.ReadDir(at)
		writeErr := os.WriteFile(filepath.Join(at, "planted"), nil, 0o600)
		renameErr := os.Rename(at, at+".moved")
		linkErr := os.Symlink("/tmp", filepath.Join(at, "link"))
		state := "closed"
		for _, err := range []error{readErr, writeErr, renameErr, linkErr} {
			if err == nil {
				state = "open"
			}
		}
		os.Stdout.WriteString("place " + state + ": " + at + "\n")
	}
	_, err := OpenDir(path)
	if err == nil {
		os.Stdout.WriteString("place open: OpenDir as another user\n")
	}
}
