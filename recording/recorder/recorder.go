// Package recorder has the library that records the OpenGL programs of a process, in C, and
// what starts a process with it. docs/recording.md is what the library writes.
//
// The library stands between a program and its driver by LD_PRELOAD. It is compiled where it
// runs, once, by the C compiler, unless it lies beside the executable. No Go runs in the
// recorded process.
package recorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shadercache/shadercache/internal/osfile"
)

// The environment of a recorded process.
const (
	FolderVariable  = "SHADERCACHE_RECORD" // the folder, absolute
	preloadVariable = "LD_PRELOAD"
)

var (
	// ErrNoLibrary is returned where the library lies nowhere and cannot be compiled.
	ErrNoLibrary = errors.New("recorder: there is no library")
	// ErrFolder is returned where a recording cannot be written.
	ErrFolder = errors.New("recorder: no recording can be written")
)

// MakeFolder makes the folder of a recording, for its user alone, and returns its absolute
// path. A folder that is there may have recordings. One that others can write to, or that
// cannot be written to, is an error: errors.Is with [ErrFolder].
func MakeFolder(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err == nil {
		err = checkOwner(path)
	}
	for _, below := range []string{"programs", "processes", "tmp"} {
		if err == nil {
			err = os.MkdirAll(filepath.Join(path, "v1", below), 0o700)
		}
	}
	if err == nil {
		err = tryWrite(filepath.Join(path, "v1", "tmp"))
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return path, nil
}

// tryWrite writes a file to a folder and deletes it: a recorder that cannot write is silent.
func tryWrite(folder string) error {
	f, err := os.CreateTemp(folder, "try-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, os.Getpagesize()))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// checkOwner refuses what another user could change.
func checkOwner(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if uid, known := osfile.Owner(info); known && uid != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, and we are user %d", path, uid, os.Geteuid())
	}
	if osfile.WritableByOthers(info) {
		return fmt.Errorf("%s can be written by others (mode %04o)", path, info.Mode().Perm())
	}
	return nil
}

// SetEnvironment makes the programs that this process starts record to a folder. Libraries
// that LD_PRELOAD has already stay in front: some have to be the first.
func SetEnvironment(library, folder string) error {
	if strings.ContainsAny(library, " :") {
		return fmt.Errorf("%w that LD_PRELOAD can name: %s has a space or a colon", ErrNoLibrary, library)
	}
	if before := os.Getenv(preloadVariable); before != "" {
		library = before + ":" + library
	}
	return errors.Join(os.Setenv(FolderVariable, folder), os.Setenv(preloadVariable, library))
}
