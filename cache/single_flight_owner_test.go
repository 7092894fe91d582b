package cache

import (
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// A compile is ended, and stored, by the cache that began it: another one, which has made the
// program earlier, ends none.
func TestACompileIsEndedByItsOwner(t *testing.T) {
	flight, owner, other := NewSingleFlight(), &Cache{}, &Cache{}
	key := shader.Key{1}
	f, mine := flight.begin(owner, key)
	flight.complete(other, key, nil)
	flight.store(other, key, true)
	if again, stolen := flight.begin(other, key); !mine || stolen || again != f || f.isComplete() {
		t.Error("another cache ended the compile")
	}
	flight.complete(owner, key, &binary.Blob{Key: key})
	flight.store(other, key, true)
	if blob, stored := flight.result(f); blob == nil || stored || !f.isComplete() {
		t.Errorf("%v, %v", blob, stored)
	}
}
