package scenetest

import "math"

// clouds is smooth noise from 0 to 1 that has detail at several sizes.
func clouds(p vector) float64 {
	sum, weight := 0.0, 0.5
	for range 4 {
		sum += weight * lattice(p)
		p, weight = p.times(2.03), weight/2
	}
	return sum / 0.9375
}

// lattice blends the random values at the eight corners of the unit cube that
// holds p.
func lattice(p vector) float64 {
	corner := vector{math.Floor(p.x), math.Floor(p.y), math.Floor(p.z)}
	f := p.minus(corner)
	x, y, z := int(corner.x), int(corner.y), int(corner.z)
	edge := func(dy, dz int) float64 {
		return blend(random(x, y+dy, z+dz), random(x+1, y+dy, z+dz), f.x)
	}
	return blend(blend(edge(0, 0), edge(1, 0), f.y), blend(edge(0, 1), edge(1, 1), f.y), f.z)
}

// blend goes from a to b with no slope at either end.
func blend(a, b, share float64) float64 {
	share = share * share * (3 - 2*share)
	return a + (b-a)*share
}

// random is a number from 0 to 1 that depends on the three integers alone.
func random(x, y, z int) float64 {
	h := uint32(x)*0x8da6b343 ^ uint32(y)*0xd8163841 ^ uint32(z)*0xcb1ab31f
	h = (h ^ h>>15) * 0x2c1b3c6d
	h = (h ^ h>>12) * 0x297a2d39
	return float64(h^h>>15) / math.MaxUint32
}
