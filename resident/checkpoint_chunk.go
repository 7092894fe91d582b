//go:build linux

package resident

import (
	"crypto/sha256"
	"runtime"
	"sync"
	"sync/atomic"
)

// extent is where a chunk lies in a file, and what it holds. Two extents are
// equal where the bytes are.
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

// cut cuts the pieces of a checkpoint into chunks, in their order, and sums them
// up on all CPUs: this is most of what a save without changes costs.
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

// seal is the checksum of a checkpoint: of the sums of its chunks.
func seal(chunks []chunk) (sum [sha256.Size]byte) {
	all := sha256.New()
	for _, c := range chunks {
		all.Write(c.sum[:])
	}
	all.Sum(sum[:0])
	return sum
}

// extents are the chunks without their bytes.
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

// patches are the writes, in their order, that make a file that holds the
// extents one that holds the chunks and their seal; the file ends behind the
// last one.
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
