package cache

import "testing"

// Lanes that begin in the same share find shares of their own, and stay there, and so do
// those that one of them comes upon.
func TestLanesPart(t *testing.T) {
	for others := range uint32(lanes / 2) {
		same, row := []*lane{{}}, []*lane{{}, {}}
		for i := range others {
			same, row = append(same, &lane{}), append(row, &lane{number: i + 1})
		}
		for _, list := range [][]*lane{same, row} {
			e := &entry{clock: newClock(nil)}
			for i := range e.shares {
				e.shares[i].entry = e
			}
			const enough = 100
			for rounds, apart := 0, 0; apart < enough; rounds++ {
				users := map[uint32]bool{}
				for _, l := range list {
					l.acquire(e).release()
					users[l.number] = true
				}
				apart++
				if len(users) != len(list) {
					apart = 0
				}
				if rounds == 100_000 {
					t.Fatalf("%d lanes count in %d shares still", len(list), len(users))
				}
			}
			if n := e.handles(); n != 0 {
				t.Errorf("%d handles are left", n)
			}
		}
	}
}
