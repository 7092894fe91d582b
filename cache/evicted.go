package cache

import (
	"math"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// kept holds the blobs of evicted programs up to a limit; the one evicted
// longest ago goes first. Its owner guards it with Cache.mu.
type kept struct {
	blobs *simplelru.LRU[shader.Key, *binary.Blob]
	bytes int64
	limit int64 // payload bytes; negative: keep nothing
}

func newKept(limit int64) kept {
	blobs, err := simplelru.NewLRU[shader.Key, *binary.Blob](math.MaxInt, nil)
	if err != nil {
		panic("cache: simplelru refused the largest size: " + err.Error())
	}
	return kept{blobs: blobs, limit: limit}
}

// worth reports whether a blob could be kept.
func (k *kept) worth(blob *binary.Blob) bool {
	return blob != nil && int64(len(blob.Payload)) <= k.limit
}

func (k *kept) find(key shader.Key) *binary.Blob {
	blob, _ := k.blobs.Peek(key)
	return blob
}

// add keeps a blob that is worth it, in the place of others of its key.
func (k *kept) add(blob *binary.Blob) {
	k.remove(blob.Key)
	k.blobs.Add(blob.Key, blob)
	k.bytes += int64(len(blob.Payload))
	for k.bytes > k.limit {
		_, oldest, _ := k.blobs.RemoveOldest()
		k.bytes -= int64(len(oldest.Payload))
	}
}

func (k *kept) remove(key shader.Key) {
	if blob := k.find(key); blob != nil {
		k.blobs.Remove(key)
		k.bytes -= int64(len(blob.Payload))
	}
}
