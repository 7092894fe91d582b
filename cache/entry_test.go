package cache

import "testing"

// Lanes with the same number find shares of their own, and stay there.
func TestLanesPart(t *testing.T) {
	e := &entry{clock: newClock(nil)}
	for i := range e.shares {
		e.shares[i].entry = e
	}
	for others := uint32(1); others < lanes/2; others++ {
		var list []*lane
		for made := range others + 1 {
			list = append(list, newLane(made*lanes+7))
		}
		const rounds = 200
		for range rounds {
			for _, l := range list {
				l.acquire(e).release()
			}
		}
		users := map[uint32]int{}
		for _, l := range list {
			users[l.number]++
		}
		if len(users) != len(list) {
			t.Errorf("%d lanes count in %d shares: %v", len(list), len(users), users)
		}
	}
	if n := e.handles(); n != 0 {
		t.Errorf("%d handles are left", n)
	}
}
