package binary

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// ByName is All without those that cannot be read, sorted by name, then
// key. It has all of them in memory at once, packed: less than 100 bytes each
// and the name.
func (s *Store) ByName() iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		var all packedEntries
		for e, err := range s.All() {
			if err == nil {
				all.add(&e)
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

// packedEntries are many entries in little memory, none of which the garbage
// collector has to look at one by one.
type packedEntries struct {
	entries []packedEntry
	page    []byte // what is left of the last one
}

// packedEntry is an entry in a page that it shares with others:
//
//	32 bytes  key
//	varint    length of the name, then the name
//	varints   bytes, raw bytes, created, last use, hits, compile, load
//
// Times are nanoseconds since 1970, 0 for none.
type packedEntry []byte

const (
	packedPage = 64 << 10
	// maxPacked is what an entry takes at most.
	maxPacked = len(shader.Key{}) + MaxNameBytes + 8*binary.MaxVarintLen64
)

func (p *packedEntries) add(e *Entry) {
	if len(p.page) < maxPacked {
		p.page = make([]byte, packedPage)
	}
	name := cutName(e.Name)
	b := append(p.page[:0], e.Key[:]...)
	b = binary.AppendUvarint(b, uint64(len(name)))
	b = append(b, name...)
	for _, n := range []int64{e.Bytes, e.RawBytes, packedTime(e.Created), packedTime(e.LastUse),
		int64(e.Hits), e.CompileNanos, e.LoadNanos} {
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

// name is the name and what follows it.
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
	}
}

// packedTime is 0 as well for a time that only a damaged index holds.
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
