//go:build linux

package resident

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"sync/atomic"
)

// extent is the place of a chunk in a file, with its hash. Equal extents have equal
// bytes.
type extent struct {
	at   int64
	size int
	sum  [sha256.Size]byte
}

// chunk is an extent with its bytes.
type chunk struct {
	extent
	data []byte
}

// cut divides the pieces of a checkpoint into chunks, in their order, and hashes them on
// all CPUs: most of the cost of a save without changes.
func cut(pieces [][]byte) []chunk {
	var chunks []chunk
	var at int64
	for _, piece := range pieces {
		for len(piece) > 0 {
			n := min(len(piece), chunkBytes)
			chunks = append(chunks, chunk{extent: extent{at: at, size: n}, data: piece[:n]})
			piece, at = piece[n:], at+int64(n)
		}
	}
	var taken atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(chunks)) {
		workers.Go(func() {
			for i := taken.Add(1) - 1; int(i) < len(chunks); i = taken.Add(1) - 1 {
				chunks[i].sum = sha256.Sum256(chunks[i].data)
			}
		})
	}
	workers.Wait()
	return chunks
}

// seal returns the hash of a checkpoint: of the hashes of its chunks.
func seal(chunks []chunk) (sum [sha256.Size]byte) {
	all := sha256.New()
	for _, c := range chunks {
		all.Write(c.sum[:])
	}
	all.Sum(sum[:0])
	return sum
}

// extents returns the chunks without their bytes.
func extents(chunks []chunk) []extent {
	list := make([]extent, len(chunks))
	for i, c := range chunks {
		list[i] = c.extent
	}
	return list
}

// patch is a write to a file.
type patch struct {
	at   int64
	data []byte
}

// patches returns the writes, in order, that turn a file with the extents held into one
// with the chunks and their seal. The file ends behind the last one.
func patches(held []extent, chunks []chunk) []patch {
	var list []patch
	var end int64
	for i, c := range chunks {
		if i >= len(held) || held[i] != c.extent {
			list = append(list, patch{c.at, c.data})
		}
		end = c.at + int64(c.size)
	}
	sum := seal(chunks)
	return append(list, patch{end, sum[:]})
}
