package binary

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// All yields every program in the store, in the order of their keys. It has one of them
// in memory at a time. It opens every blob for its header, and yields a blob that cannot
// be read with its key and an error. Statistics are those of a copy of the index at the
// start; the index is free meanwhile. Without an index, which may be busy or missing,
// hits and load times are 0 and the last use is the file's time.
func (s *Store) All() iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		known := s.openStatistics()
		defer known.Close()
		for key, file := range s.blobFiles() {
			h, fileBytes, err := s.readHeader(key)
			if err != nil {
				if !yield(Entry{Key: key}, err) {
					return
				}
				continue
			}
			e := known.find(key)
			e.describe(h, fileBytes)
			e.usedBy(fileTime(file))
			if !yield(e, nil) {
				return
			}
		}
	}
}

// ByName yields the programs of All that can be read, sorted by name, then key. It has
// all of them in memory at once, packed: less than 100 bytes each and the name, without
// the entries of the driver's cache.
func (s *Store) ByName() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var all packedEntries
		for e, err := range s.All() {
			if err == nil {
				all.pack(&e)
			}
		}
		all.sort()
		for _, p := range all.entries {
			if !yield(p.unpack()) {
				return
			}
		}
	}
}

// packedEntries holds entries in pages, which use less memory than Entry values and cost
// the garbage collector nothing per entry.
type packedEntries struct {
	entries []packedEntry
	page    []byte // the free part of the last page
}

// packedEntry is one entry, in a page that it shares with others:
//
//	32 bytes  key
//	varint    length of the name, then the name
//	varints   bytes, raw bytes, created, last use, hits, compile, load, GPU, GFLOPS, first result
//
// Times are nanoseconds since 1970, 0 for none, and GFLOPS is the bits of the number.
type packedEntry []byte

const (
	packedPage = 64 << 10
	// maxPacked is the size of the largest packed entry.
	maxPacked = len(shader.Key{}) + maxNameBytes + 11*binary.MaxVarintLen64
)

// pack adds an entry.
func (p *packedEntries) pack(e *Entry) {
	if len(p.page) < maxPacked {
		p.page = make([]byte, packedPage)
	}
	name := cutName(e.Name)
	b := append(p.page[:0], e.Key[:]...)
	b = binary.AppendUvarint(b, uint64(len(name)))
	b = append(b, name...)
	for _, n := range []int64{e.Bytes, e.RawBytes, packedTime(e.Created), packedTime(e.LastUse),
		int64(e.Hits), e.CompileNanos, e.LoadNanos,
		e.GPUNanos, int64(math.Float64bits(e.GFLOPS)), e.FirstResultNanos} {
		b = binary.AppendVarint(b, n)
	}
	p.page = p.page[len(b):]
	p.entries = append(p.entries, packedEntry(b[:len(b):len(b)]))
}

func (p *packedEntries) sort() {
	slices.SortFunc(p.entries, func(a, b packedEntry) int {
		nameA, _ := a.name()
		nameB, _ := b.name()
		return cmp.Or(bytes.Compare(nameA, nameB), bytes.Compare(a[:len(shader.Key{})], b[:len(shader.Key{})]))
	})
}

// name returns the name and the bytes after it.
func (p packedEntry) name() (name, rest []byte) {
	length, n := binary.Uvarint(p[len(shader.Key{}):])
	rest = p[len(shader.Key{})+n:]
	return rest[:length], rest[length:]
}

func (p packedEntry) unpack() Entry {
	name, rest := p.name()
	next := func() int64 {
		value, n := binary.Varint(rest)
		rest = rest[n:]
		return value
	}
	return Entry{
		Key: shader.Key(p[:len(shader.Key{})]), Name: string(name),
		Bytes: next(), RawBytes: next(), Created: unpackedTime(next()), LastUse: unpackedTime(next()),
		Hits: uint64(next()), CompileNanos: next(), LoadNanos: next(),
		GPUNanos: next(), GFLOPS: math.Float64frombits(uint64(next())), FirstResultNanos: next(),
	}
}

// packedTime returns 0 for the zero time, and for a time that no blob can hold.
func packedTime(t time.Time) int64 {
	nanos, err := unixNanos(t)
	if err != nil {
		return 0
	}
	return nanos
}

func unpackedTime(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// Keys yields the programs in the store, in the order of their keys, without opening them.
func (s *Store) Keys() iter.Seq[shader.Key] {
	return func(yield func(shader.Key) bool) {
		for key := range s.blobFiles() {
			if !yield(key) {
				return
			}
		}
	}
}

// Describe returns what the file of a program says of it, without statistics. It returns
// ErrNotFound, or an error that matches ErrDamaged.
func (s *Store) Describe(key shader.Key) (Entry, error) {
	h, fileBytes, err := s.readHeader(key)
	if err != nil {
		return Entry{}, err
	}
	var e Entry
	e.describe(h, fileBytes)
	return e, nil
}
