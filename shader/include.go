package shader

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// errOutside is returned for a name that no file of a file system can have.
var errOutside = errors.New("the name leads out of the source folder")

// sourceFile is one file of a source.
type sourceFile struct {
	name    string // in messages
	folder  string // of its path
	id      string // equal for the same file under two names
	shipped bool
	raw     string // as read
	text    string // normalized
	guard   string // macro of an include guard around the whole file, or ""
	once    bool   // it has #pragma once
}

// finder finds the files of one source, as glslc does:
//
//	#include "x"  beside the including file, then in each of dirs
//	#include <x>  in each of dirs
//
// then among the shipped files, by its last element. A name with a leading slash is
// looked up in the same places, then from the root of the file system.
type finder struct {
	fsys    fs.FS
	dirs    []string
	shipped fs.FS // nil: none
	files   []*sourceFile
	bytes   int
}

// place is where a file may be.
type place struct {
	path    string
	shipped bool
}

// include returns the file that the operand of an #include names.
func (f *finder) include(from *sourceFile, operand string) (*sourceFile, error) {
	name, quoted, ok := includeName(operand)
	if !ok {
		return nil, errors.New(`write a name in double quotes or angle brackets`)
	}
	relative := strings.TrimLeft(name, "/")
	var places []place
	if quoted {
		places = append(places, place{f.join(from.folder, relative), from.shipped})
	}
	for _, dir := range f.dirs {
		places = append(places, place{f.join(dir, relative), false})
	}
	if f.shipped != nil {
		places = append(places, place{path.Base(name), true})
	}
	if relative != name {
		places = append(places, place{f.root(relative), false})
	}
	return f.first(places)
}

// first returns the first file that exists, else the most telling error.
func (f *finder) first(places []place) (*sourceFile, error) {
	var worst error = fs.ErrNotExist
	for _, p := range places {
		file, err := f.open(p)
		if err == nil {
			return file, nil
		}
		if errors.Is(worst, fs.ErrNotExist) && !errors.Is(err, fs.ErrNotExist) {
			worst = err
		}
	}
	return nil, worst
}

// includeName returns the name that an operand has in quotes or brackets.
func includeName(operand string) (name string, quoted, ok bool) {
	n := len(operand)
	if n < 3 || operand[0] == '"' != (operand[n-1] == '"') || operand[0] == '<' != (operand[n-1] == '>') {
		return "", false, false
	}
	name, quoted = operand[1:n-1], operand[0] == '"'
	ok = (quoted || operand[0] == '<') && !strings.ContainsAny(name, "\"<>\\") && strings.Trim(name, "/") != ""
	return name, quoted, ok
}

// join returns the path of a name in a folder. Only the operating system resolves
// ".." where a folder is a symbolic link.
func (f *finder) join(folder, name string) string {
	switch {
	case !f.onDisk():
		return path.Join(folder, name)
	case folder == "" || strings.HasSuffix(folder, "/"):
		return folder + name
	}
	return folder + "/" + name
}

func (f *finder) root(name string) string {
	if f.onDisk() {
		return "/" + name
	}
	return path.Clean(name)
}

func (f *finder) onDisk() bool {
	_, ok := f.fsys.(diskFS)
	return ok
}

// open returns a file, which is read once.
func (f *finder) open(p place) (*sourceFile, error) {
	file := &sourceFile{name: p.path, folder: folderOf(p.path), id: p.path, shipped: p.shipped}
	fsys := f.fsys
	switch {
	case p.shipped:
		fsys = f.shipped
	case f.onDisk():
		file.name, file.id = diskName(p.path)
	}
	same := func(other *sourceFile) bool { return other.id == file.id && other.shipped == file.shipped }
	if i := slices.IndexFunc(f.files, same); i >= 0 {
		return f.files[i], nil
	}
	text, err := f.read(fsys, p.path)
	if err != nil {
		return nil, err
	}
	file.raw, file.text = text, normalize(text)
	file.guard, file.once = includeGuard(file.text)
	return file, nil
}

// folderOf returns the folder of a path, "" for the working directory.
func folderOf(file string) string {
	switch i := strings.LastIndexByte(file, '/'); i {
	case -1:
		return ""
	case 0:
		return "/"
	default:
		return file[:i]
	}
}

// read reads a regular file, within the remainder of maxSourceBytes.
func (f *finder) read(fsys fs.FS, file string) (string, error) {
	if !utf8.ValidString(file) { // the error of the file system would only be "invalid argument"
		return "", fmt.Errorf("%q is not UTF-8, as names have to be: rename it", file)
	}
	if _, disk := fsys.(diskFS); !disk && !fs.ValidPath(file) {
		return "", errOutside
	}
	info, err := fs.Stat(fsys, file) // before Open, which waits for the writer of a pipe
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a regular file", file)
	}
	opened, err := fsys.Open(file)
	if err != nil {
		return "", err
	}
	defer opened.Close()
	left := maxSourceBytes - f.bytes
	data, err := io.ReadAll(io.LimitReader(opened, int64(left)+1))
	if err != nil {
		return "", err
	}
	if len(data) > left {
		return "", fmt.Errorf("%s: %w", file, errTooLarge)
	}
	f.bytes += len(data)
	return string(data), nil
}

// diskFS is the file system of the operating system, by paths as users type them.
type diskFS struct{}

func (diskFS) Open(name string) (fs.File, error)     { return os.Open(filepath.FromSlash(name)) }
func (diskFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(filepath.FromSlash(name)) }

// diskName returns a path for messages, without needless elements, and a name of the
// file that does not depend on the working directory. Numbers of files are part of
// the key, so equal files have to be found whatever they were called.
func diskName(file string) (name, id string) {
	id = realPath(file)
	if clean := path.Clean(file); clean != file && realPath(clean) == id && !strings.HasPrefix(file, "./") {
		return clean, id
	}
	return file, id
}

// realPath returns the absolute path without symbolic links, or the path where there
// is no such file.
func realPath(file string) string {
	native := filepath.FromSlash(file)
	if !filepath.IsAbs(native) {
		here, err := os.Getwd()
		if err != nil {
			return file
		}
		native = here + string(filepath.Separator) + native
	}
	real, err := filepath.EvalSymlinks(native)
	if err != nil {
		return file
	}
	return real
}
