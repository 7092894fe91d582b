package recorder

import (
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shadercache/shadercache/internal/osfile"
)

// LibraryName is the name of the library's file.
const LibraryName = "libshadercache-record.so"

//go:embed c
var source embed.FS

// compilers are what compiles the library, the first that there is.
var compilers = []string{"cc", "gcc", "clang"}

// Library returns the path of the library: beside the executable, in ../lib/shadercache
// from there, or in the user's cache directory, where it is compiled by the first call.
// That takes about two seconds: compiling, which may be nil, is called before. Without it,
// and without a C compiler, errors.Is with [ErrNoLibrary].
func Library(ctx context.Context, compiling func(compiler string)) (string, error) {
	if path := installed(); path != "" {
		return path, nil
	}
	dir, err := buildDir()
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	path := filepath.Join(dir, LibraryName)
	if isOurs(path) {
		return path, nil
	}
	if err := buildInto(ctx, dir, path, compiling); err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	return path, nil
}

// installed returns the library that came with the executable, or "".
func installed() string {
	executable, err := os.Executable()
	if err == nil {
		executable, err = filepath.EvalSymlinks(executable)
	}
	if err != nil {
		return ""
	}
	dir := filepath.Dir(executable)
	for _, path := range []string{
		filepath.Join(dir, LibraryName),
		filepath.Join(dir, "..", "lib", "shadercache", LibraryName),
	} {
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path
		}
	}
	return ""
}

// isOurs reports whether there is a library that no other user can change.
func isOurs(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && checkOwner(path) == nil
}

// buildDir makes the folder of this source's library. Where another user could replace it,
// theirs would be what programs are started with.
func buildDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "shadercache-record", sourceDigest()+"-"+runtime.GOARCH)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	if how, remedy := osfile.Replaceable(dir); how != "" {
		return "", fmt.Errorf("%s %s: %s", dir, how, cmp.Or(remedy, "set XDG_CACHE_HOME to a folder of your own"))
	}
	return dir, checkOwner(dir)
}

// sourceDigest names the source, so that each version has a library of its own.
func sourceDigest() string {
	sum := sha256.New()
	_ = fs.WalkDir(source, ".", func(path string, d fs.DirEntry, _ error) error {
		if !d.IsDir() {
			data, _ := source.ReadFile(path)
			fmt.Fprintf(sum, "%s %d\n%s", path, len(data), data)
		}
		return nil
	})
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// buildInto compiles the library beside its place, and moves it there.
func buildInto(ctx context.Context, dir, path string, compiling func(compiler string)) error {
	compiler, err := findCompiler()
	if err != nil {
		return err
	}
	if compiling != nil {
		compiling(compiler)
	}
	temporary, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	if err := os.CopyFS(temporary, source); err != nil {
		return err
	}
	built := filepath.Join(temporary, LibraryName)
	if err := Build(ctx, filepath.Join(temporary, "c"), compiler, built); err != nil {
		return err
	}
	return os.Rename(built, path)
}

func findCompiler() (string, error) {
	for _, name := range compilers {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("it is compiled at the first use, and there is no C compiler in $PATH: neither %s nor %s",
		strings.Join(compilers[:len(compilers)-1], ", "), compilers[len(compilers)-1])
}

// Build compiles the source in a folder into a file, with more flags for the compiler.
func Build(ctx context.Context, folder, compiler, file string, flags ...string) error {
	cmd := exec.CommandContext(ctx, "sh", append([]string{filepath.Join(folder, "build"), file}, flags...)...)
	cmd.Env = append(os.Environ(), "CC="+compiler)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", compiler, err, out)
	}
	return nil
}
