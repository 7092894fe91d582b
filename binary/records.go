package binary

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/shadercache/shadercache/internal/osfile"
	"github.com/shadercache/shadercache/shader"
)

// Facts are kept in a cache directory in three ways, each with one helper here:
//
//	a file a key    perKey    a whole file, renamed into place: nothing is read before it is
//	                          written, so that processes need not agree
//	appended lines  appended  one write of a line of JSON; a file that is too long is shortened
//	                          under a lock
//	a whole file    whole     JSON, renamed into place; of changes that two processes make at
//	                          the same moment, one may be lost
//
// So a process that is killed leaves a record as it was or as it is to be, and at most one
// line that is cut. What is damaged, longer than its bound, or no regular file counts as
// missing; Verify reports it.
//
//	kind                         way             at most          merged, and until when
//	<store>/blobs/<key>.bin      a file a key    64 MiB           until Prune, Reject
//	<store>/checked/<key>        a file a key    4 KiB            with its blob
//	<store>/failed/<key>.json    a file a key    16 MiB           30 days
//	<store>/quarantine/<key>     a file a key    64 KiB           with the note before; 24 hours
//	<store>/tuning/<problem>     a file a key    16 KiB
//	sources/<key>.glsl.zst       a file a key    16 MiB           until no driver has a program of it
//	history.jsonl                appended lines  1 MiB            the later half stays
//	exec.jsonl                   appended lines  256 KiB          the later half stays
//	starts.jsonl                 appended lines  256 KiB          sums of hours, then of days; a year
//	settings.json                a whole file    64 KiB
//	stats_zero.json              a whole file    4 MiB
//	cache_stats.json             a whole file    4 MiB            one driver is replaced
//	compiled.json                a whole file    4 MiB            by name; the latest 64
//	last_trim                    a whole file    64 B
//	<store>/fingerprint.json     a whole file    1 MiB
//	<store>/probe.json           a whole file    1 MiB
//	<store>/refusals.json        a whole file    4 KiB            sums, halved above 64; 30 days
//	<store>/pending/<random>     a whole file    64 MiB           into the index, of which it is a part
//
// Beside these are what is no fact of its own: the index and its view manifest.json, the
// marks of inflight/ and opening/ (package crashlog), and rejected/.

// perKey is a kind of which each key has a file of its own.
type perKey[T any] struct {
	folder, ext string
	sharded     bool // in folders of two digits, so that 10,000 make folders of 40
	limit       int64
	decode      func(key shader.Key, data []byte) (T, error)
}

// path returns the file of a key below the directory of a store, or the cache directory.
func (k perKey[T]) path(root string, key shader.Key) string {
	name, shard := key.String(), ""
	if k.sharded {
		shard = name[:2]
	}
	return filepath.Join(root, k.folder, shard, name+k.ext)
}

// read reads the record of a key. A *damagedError has the path.
func (k perKey[T]) read(root string, key shader.Key) (v T, info fs.FileInfo, err error) {
	return readDecoded(k.path(root, key), k.limit, func(data []byte) (T, error) { return k.decode(key, data) })
}

func readDecoded[T any](path string, limit int64, decode func(data []byte) (T, error)) (v T, info fs.FileInfo, err error) {
	data, info, err := readRegular(path, limit)
	if err == nil {
		v, err = decode(data)
	}
	if bad, ok := errors.AsType[*damagedError](err); ok {
		bad.Path = path
	}
	return v, info, err
}

// files yields the keys that have a file, in their order, without opening it. A folder that
// is missing, or that is deleted meanwhile, counts as empty.
func (k perKey[T]) files(root string) iter.Seq2[shader.Key, fs.DirEntry] {
	return func(yield func(shader.Key, fs.DirEntry) bool) {
		top, folders := filepath.Join(root, k.folder), []string{""}
		if k.sharded {
			folders = nil
			for _, e := range shards(top) {
				folders = append(folders, e.Name())
			}
		}
		for _, shard := range folders {
			for _, file := range osfile.List(filepath.Join(top, shard)) {
				if key, ok := k.key(shard, file.Name()); ok && !yield(key, file) {
					return
				}
			}
		}
	}
}

// key returns the key in the name of a file, and false for a name of another form.
func (k perKey[T]) key(shard, name string) (shader.Key, bool) {
	digits, ok := strings.CutSuffix(name, k.ext)
	if !ok || !strings.HasPrefix(digits, shard) || digits != strings.ToLower(digits) {
		return shader.Key{}, false
	}
	key, err := shader.ParseKey(digits)
	return key, err == nil
}

// all yields the records in the order of their keys, with one of them in memory at a time.
// For one that cannot be read it yields an error and continues.
func (k perKey[T]) all(root string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for key := range k.files(root) {
			v, _, err := k.read(root, key)
			if !errors.Is(err, fs.ErrNotExist) && !yield(v, err) { // else it was deleted meanwhile
				return
			}
		}
	}
}

// decodeKeyed decodes JSON that holds its key.
func decodeKeyed[T any](keyOf func(T) shader.Key) func(shader.Key, []byte) (T, error) {
	return func(key shader.Key, data []byte) (v T, err error) {
		if err := json.Unmarshal(data, &v); err != nil || keyOf(v) != key {
			var none T
			return none, damaged("is not the record of its key")
		}
		return v, nil
	}
}

// appended is a kind whose records are lines of JSON in a file of the cache directory.
type appended[T any] struct {
	name    string
	above   int64 // a longer file is shortened
	limit   int64 // of a file that is read
	time    func(T) time.Time
	shorten func(all []T, now time.Time) []T
}

func (a appended[T]) path(d *Dir) string { return filepath.Join(d.path, a.name) }

// add appends a record in one write, so that processes that end together lose nothing. Where a
// process that was killed, or a full volume, cut the last line, add ends it before.
func (a appended[T]) add(d *Dir, v T) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := openOrCreate(a.path(d), os.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	last := []byte{'\n'}
	if _, err := f.Seek(-1, io.SeekEnd); err == nil { // else it is empty
		_, _ = f.Read(last)
	}
	if last[0] != '\n' {
		line = append([]byte{'\n'}, line...)
	}
	if _, err := f.Write(append(line, '\n')); err != nil {
		return err
	}
	// Not while another process does. What is appended meanwhile may be lost.
	if info, err := f.Stat(); err != nil || info.Size() <= a.above || osfile.TryLock(f, true) != nil {
		return err
	}
	return a.replace(d, a.shorten(a.since(d, time.Time{}), d.now().UTC()))
}

func (a appended[T]) replace(d *Dir, records []T) error {
	return osfile.WriteUnsynced(a.path(d), func(w *bufio.Writer) error {
		for _, v := range records {
			if err := json.NewEncoder(w).Encode(v); err != nil {
				return err
			}
		}
		return nil
	})
}

// since returns the records since a time, or since [Dir.Zero]. It leaves out lines that
// cannot be read, and those of a file that is larger than the limit.
func (a appended[T]) since(d *Dir, begin time.Time) (records []T) {
	if zero := d.ZeroTime(); zero.After(begin) {
		begin = zero
	}
	data, _, _ := readRegular(a.path(d), a.limit)
	for line := range bytes.Lines(data) {
		var v T
		if json.Unmarshal(line, &v) == nil && !a.time(v).IsZero() && !a.time(v).Before(begin) {
			records = append(records, v)
		}
	}
	return records
}

func laterHalf[T any](all []T, _ time.Time) []T { return all[len(all)/2:] }

// whole is a kind that is one file of JSON.
type whole[T any] struct {
	name     string
	limit    int64
	unsynced bool // it may be lost in a power cut
	compact  bool // nobody reads it
}

// read reads the file in a directory. A *damagedError has the path.
func (w whole[T]) read(root string) (v T, err error) {
	v, _, err = readDecoded(filepath.Join(root, w.name), w.limit, func(data []byte) (v T, err error) {
		if err := json.Unmarshal(data, &v); err != nil {
			var none T
			return none, damaged("%v", err)
		}
		return v, nil
	})
	return v, err
}

// write writes the file. Readers see all of it or nothing.
func (w whole[T]) write(root string, v T) error {
	data, err := w.encode(v)
	if err != nil {
		return err
	}
	path := filepath.Join(root, w.name)
	if !w.unsynced {
		return osfile.WriteFile(path, data)
	}
	return osfile.WriteUnsynced(path, func(w *bufio.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

func (w whole[T]) encode(v T) ([]byte, error) {
	if w.compact {
		data, err := json.Marshal(v)
		return append(data, '\n'), err
	}
	data, err := json.MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}
