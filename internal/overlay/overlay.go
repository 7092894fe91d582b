// Package overlay composes file systems for shader.ReadSource: layers, texts in
// memory, and files under other paths. Its file systems open files, not directories.
package overlay

import (
	"errors"
	"io/fs"
	"path"
	"strings"
	"time"
)

// FS is file systems in layers. Open returns the file of the first layer that has it.
type FS []fs.FS

// Open opens the named file.
func (l FS) Open(name string) (fs.File, error) {
	for _, layer := range l {
		if f, err := layer.Open(name); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, notExist(name)
}

// Texts is a file system of texts by path.
type Texts map[string]string

// Open opens the named text.
func (t Texts) Open(name string) (fs.File, error) {
	text, ok := t[name]
	if !ok {
		return nil, notExist(name)
	}
	return &openText{strings.NewReader(text), path.Base(name)}, nil
}

// Mount is a file system that has the files of FS below the folder Dir.
type Mount struct {
	Dir string
	FS  fs.FS
}

// Open opens the named file.
func (m Mount) Open(name string) (fs.File, error) {
	below, ok := strings.CutPrefix(name, m.Dir+"/")
	if !ok {
		return nil, notExist(name)
	}
	return m.FS.Open(below)
}

// Shared is a file system that has the files of FS whose path matches Pattern, as in
// path.Match, in every folder.
type Shared struct {
	FS      fs.FS
	Pattern string
}

// Open opens the file of FS with the base name of name.
func (s Shared) Open(name string) (fs.File, error) {
	file := path.Join(path.Dir(s.Pattern), path.Base(name))
	if ok, err := path.Match(s.Pattern, file); !ok || err != nil {
		return nil, notExist(name)
	}
	return s.FS.Open(file)
}

func notExist(name string) error {
	return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// openText is an open file of Texts, and its fs.FileInfo.
type openText struct {
	*strings.Reader
	name string
}

func (t *openText) Stat() (fs.FileInfo, error) { return t, nil }
func (t *openText) Close() error               { return nil }
func (t *openText) Name() string               { return t.name }
func (t *openText) Mode() fs.FileMode          { return 0o444 }
func (t *openText) ModTime() time.Time         { return time.Time{} }
func (t *openText) IsDir() bool                { return false }
func (t *openText) Sys() any                   { return nil }
