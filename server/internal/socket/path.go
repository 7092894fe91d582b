//go:build linux

package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/shadercache/shadercache/internal/osfile"
)

// EnvPath is the environment variable with the path of the socket, or a word for it.
const EnvPath = "SHADERCACHE_SERVER"

// ErrUnsafe is returned for a directory of the socket that other users could change.
var ErrUnsafe = errors.New("the directory of the socket is not private")

// maxPath is the size of sun_path, less the NUL byte.
const maxPath = 107

// The words that stand for a server instead of the path of its socket.
const (
	Auto  = "auto"  // the user's server, where one runs
	Start = "start" // the same; one is started where none runs
	Off   = "off"   // no server
)

// ErrOff is returned where the environment says that no server is to be used.
var ErrOff = errors.New(EnvPath + " is off")

// DefaultPath returns the path of the socket where none is given: $SHADERCACHE_SERVER if
// it is a path, else UserPath. It returns ErrOff for the word off, and an error for a path
// that is not absolute.
func DefaultPath() (string, error) {
	switch value := os.Getenv(EnvPath); {
	case value == Off:
		return "", ErrOff
	case value == "" || value == Auto || value == Start:
		return UserPath(), nil
	default:
		return value, CheckName(EnvPath, value)
	}
}

// PathOrUsers is DefaultPath, or UserPath where the environment says off: for who was asked for a
// server.
func PathOrUsers() (string, error) {
	path, err := DefaultPath()
	if errors.Is(err, ErrOff) {
		return UserPath(), nil
	}
	return path, err
}

// CheckName returns an error, which begins with what, for a value that is neither an
// absolute path nor one of the words for a server.
func CheckName(what, value string) error {
	switch {
	case value == "" || value == Auto || value == Start || value == Off || filepath.IsAbs(value):
		return nil
	}
	return fmt.Errorf("%s is %q: give an absolute path, auto, start or off", what, value)
}

// UserPath returns the path of the user's socket: "shadercache/socket" in
// $XDG_RUNTIME_DIR, else in a directory of the user below /tmp.
func UserPath() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "shadercache", "socket")
	}
	return filepath.Join("/tmp", "shadercache-"+strconv.Itoa(os.Getuid()), "socket")
}

// checkPath returns an error for a path that no socket can have.
func checkPath(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("the path of the socket, %q, is not absolute", path)
	}
	if len(path) > maxPath {
		return fmt.Errorf("the path of the socket has %d bytes, at most %d are possible: %s", len(path), maxPath, path)
	}
	return nil
}

// checkDir returns ErrUnsafe, wrapped, where the directory of path is a link, belongs to
// another user, or has permissions for others.
func checkDir(path string) error {
	dir := filepath.Dir(path)
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, _ := osfile.Owner(info)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%w: %s is not a directory", ErrUnsafe, dir)
	case owner != os.Getuid():
		return fmt.Errorf("%w: %s belongs to user %d", ErrUnsafe, dir, owner)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%w: %s has mode %04o, must have 0700", ErrUnsafe, dir, info.Mode().Perm())
	}
	return nil
}

// makeDir makes the directory of path where it does not exist, and checks it.
func makeDir(path string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkDir(path)
}
