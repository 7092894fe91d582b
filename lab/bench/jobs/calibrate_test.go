package jobs

import "testing"

// roundsFor reaches a time that a kernel can have, and stays within 1 and most.
func TestRoundsFor(t *testing.T) {
	kernel := func(rounds uint32) float64 { return 2 + 0.01*float64(rounds) }
	for _, test := range []struct {
		micros      float64
		most        uint32
		least, last uint32
	}{
		{100, 1 << 20, 9500, 10_100},
		{1, 1 << 20, 1, 1},
		{1000, 500, 500, 500},
	} {
		rounds, took := roundsFor(test.micros, test.most, kernel)
		if rounds < test.least || rounds > test.last || took != kernel(rounds) {
			t.Errorf("%g us: %d rounds take %g us", test.micros, rounds, took)
		}
	}
}

func TestAffineIsTheLoop(t *testing.T) {
	x := uint32(12345)
	want := x
	for range 1000 {
		want = want*1664525 + 1013904223
	}
	if f := newAffine(1000); f.a*x+f.c != want {
		t.Errorf("1000 rounds give %d, want %d", f.a*x+f.c, want)
	}
}
