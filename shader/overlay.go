package shader

import (
	"io/fs"
	"strings"
	"time"
)

// Overlay is a file system with files that are replaced or added by text, for
// [ReadSource] of kernels that include text of their user.
type Overlay struct {
	FS    fs.FS             // the other files; nil means that there are none
	Texts map[string]string // by file name
}

// Open opens a text, else a file of o.FS.
func (o Overlay) Open(name string) (fs.File, error) {
	if text, ok := o.Texts[name]; ok {
		return textFile{name: name, size: int64(len(text)), Reader: strings.NewReader(text)}, nil
	}
	if o.FS == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return o.FS.Open(name)
}

// textFile is an open text, and its own fs.FileInfo.
type textFile struct {
	*strings.Reader
	name string
	size int64
}

func (t textFile) Close() error               { return nil }
func (t textFile) Stat() (fs.FileInfo, error) { return t, nil }
func (t textFile) Name() string               { return t.name[strings.LastIndexByte(t.name, '/')+1:] }
func (t textFile) Size() int64                { return t.size }
func (t textFile) Mode() fs.FileMode          { return 0o444 }
func (t textFile) ModTime() time.Time         { return time.Time{} }
func (t textFile) IsDir() bool                { return false }
func (t textFile) Sys() any                   { return nil }
