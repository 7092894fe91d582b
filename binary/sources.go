package binary

import (
	"encoding/json"
	"errors"
	"io/fs"
	"iter"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/shadercache/shadercache/shader"
)

// Sources belong to no driver: another driver compiles its programs from them.
//
//	sources/5e/5e884898....glsl.zst   zstd of one line of JSON, then the text
//
// The line holds name and files. The text needs no checksum: its key must be the one in
// the file's name.
const (
	sourcesName    = "sources"
	sourceExt      = ".glsl.zst"
	maxSourceBytes = 16 << 20
	maxLineBytes   = 1 << 20
)

var sources = perKey[*shader.Source]{folder: sourcesName, ext: sourceExt, sharded: true, limit: maxSourceBytes, decode: decodeSource}

// sourceLine is the first line of a source file.
type sourceLine struct {
	Name  string   `json:"name"`
	Files []string `json:"files"`
}

// PutSource stores a source, unless there is one with its key. It does not store a text
// of more than 8 MiB, and none with names of more than 1 MiB.
func (d *Dir) PutSource(src *shader.Source) error {
	path := sources.path(d.path, src.Key())
	if _, err := os.Lstat(path); err == nil || d.readOnly || len(src.Text()) > maxSourceBytes/2 {
		return nil
	}
	line, err := json.Marshal(sourceLine{cutName(src.Name()), src.Files()})
	if err != nil || len(line) > maxLineBytes {
		return wrap("put source", err)
	}
	data := compress(append(append(line, '\n'), src.Text()...))
	err = writeCreating(path, data, func(dir string) error {
		if err := d.create(); err != nil {
			return err
		}
		return os.MkdirAll(dir, 0o700)
	})
	return wrap("put source", err)
}

// PutSource calls Dir.PutSource.
func (s *Store) PutSource(src *shader.Source) error { return s.dir.PutSource(src) }

// Source calls Dir.Source. It deletes a damaged file, so that the source is read upstream, and that PutSource
// makes it again; where no upstream directory has the source, it reports the damage.
func (s *Store) Source(key shader.Key) (*shader.Source, error) {
	src, err := s.dir.Source(key)
	bad, isBad := errors.AsType[*damagedError](err)
	if isBad && !s.dir.readOnly && bad.Path == sources.path(s.dir.path, key) && os.Remove(bad.Path) == nil {
		if src, upErr := s.dir.Source(key); upErr == nil {
			return src, nil
		}
	}
	return src, err
}

// Source reads a stored source, here or upstream. It returns ErrNotFound where there is
// none, and an error that matches ErrDamaged for a file that PutSource did not write.
func (d *Dir) Source(key shader.Key) (*shader.Source, error) {
	src, _, err := sources.read(d.path, key)
	switch {
	case err == nil || errors.Is(err, ErrDamaged):
		return src, err
	case !errors.Is(err, fs.ErrNotExist):
		return nil, wrap("read source", err)
	case d.upstream != nil:
		return d.upstream.Source(key)
	}
	return nil, ErrNotFound
}

// Sources yields the stored sources, in the order of their keys, with one of them in
// memory at a time. For a source that cannot be read it yields an error and continues.
func (d *Dir) Sources() iter.Seq2[*shader.Source, error] { return sources.all(d.path) }

// SourceCount returns the number of stored sources, here and upstream; one that both have
// counts twice. It opens none of them.
func (d *Dir) SourceCount() (count int) {
	for _, level := range d.levels() {
		for range sources.files(level.path) {
			count++
		}
	}
	return count
}

// decodeSource reads what PutSource wrote.
func decodeSource(key shader.Key, data []byte) (*shader.Source, error) {
	var header zstd.Header
	if err := header.Decode(data); err != nil || header.HasFCS && header.FrameContentSize > maxSourceBytes {
		return nil, damaged("source is not compressed, or has more than %d bytes", maxSourceBytes)
	}
	// Frames of a few bytes do not hold the length of their content.
	room := max(header.FrameContentSize, 64<<10)
	raw, err := decoder().DecodeAll(data, make([]byte, 0, room))
	if err != nil {
		return nil, damaged("source does not decompress: %v", err)
	}
	first, text, ok := strings.Cut(string(raw), "\n")
	var line sourceLine
	if !ok || len(first) > maxLineBytes || json.Unmarshal([]byte(first), &line) != nil {
		return nil, damaged("source has no first line")
	}
	src := shader.NewFinalSource(line.Name, text, line.Files)
	if src.Key() != key {
		return nil, damaged("holds the source of %s", src.Key().Short())
	}
	return src, nil
}
