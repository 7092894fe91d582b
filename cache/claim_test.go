package cache

import (
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/shader"
)

// A program has one claim at a time, which ends with its owner: what another cache claims
// meanwhile is refused, and changes nothing.
func TestAClaimIsEndedByItsOwner(t *testing.T) {
	flights := NewSingleFlight()
	newClaim := func() *claim { return &claim{key: sharedKey{key: shader.Key{1}}, made: make(chan struct{})} }
	mine, other := newClaim(), newClaim()
	if got := flights.add(mine); got != mine {
		t.Fatal("the program was claimed before")
	}
	if got := flights.add(other); got != mine {
		t.Error("another cache has the claim too")
	}
	other.end()
	flights.remove(other)
	if got := flights.add(other); got != mine || isClosed(mine.made) {
		t.Error("another cache ended the claim")
	}
	mine.make(&binary.Blob{})
	if got := flights.add(other); got != mine || !isClosed(mine.made) || mine.blob == nil {
		t.Error("other caches do not find what was made")
	}
	mine.end()
	if got := flights.add(newClaim()); got == mine {
		t.Error("the claim has not ended")
	}
}
