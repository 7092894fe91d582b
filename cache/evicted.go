package cache

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// evictedBlobs is a victim cache: it keeps the blobs of evicted programs up to a
// limit and removes the one that was evicted longest ago first. Its owner guards
// it with Cache.mu.
type evictedBlobs struct {
	blobs *simplelru.LRU[shader.Key, *binary.Blob]
	bytes int64
	limit int64 // payload bytes; negative: keep nothing
}

func newEvictedBlobs(limit int64) evictedBlobs {
	blobs, err := simplelru.NewLRU[shader.Key, *binary.Blob](math.MaxInt, nil)
	if err != nil {
		panic("cache: simplelru refused the largest size: " + err.Error())
	}
	return evictedBlobs{blobs: blobs, limit: limit}
}

// accepts reports whether a blob is within the limit.
func (b *evictedBlobs) accepts(blob *binary.Blob) bool {
	return blob != nil && int64(len(blob.Payload)) <= b.limit
}

func (b *evictedBlobs) find(key shader.Key) *binary.Blob {
	blob, _ := b.blobs.Peek(key)
	return blob
}

// add keeps a blob that accepts accepts, in place of another of its key.
func (b *evictedBlobs) add(blob *binary.Blob) {
	b.remove(blob.Key)
	b.blobs.Add(blob.Key, blob)
	b.bytes += int64(len(blob.Payload))
	for b.bytes > b.limit {
		_, oldest, _ := b.blobs.RemoveOldest()
		b.bytes -= int64(len(oldest.Payload))
	}
}

func (b *evictedBlobs) remove(key shader.Key) {
	if blob := b.find(key); blob != nil {
		b.blobs.Remove(key)
		b.bytes -= int64(len(blob.Payload))
	}
}
