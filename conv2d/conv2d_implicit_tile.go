//go:build linux

package conv2d

import (
	"fmt"
	"maps"
	"slices"
)

// implicitTile is how conv2d_implicit.comp cuts its product among groups and
// invocations. The fields are the kernel's tunables, which its file describes.
type implicitTile struct {
	bm, bn, bk    int
	tm, tn        int
	split, slices int
	buffers       int
	tapsFirst     int
	clamp         int
	unroll        int
}

// fields are the tunables under their names in [Params].
func (t *implicitTile) fields() map[string]*int {
	return map[string]*int{
		"bm": &t.bm, "bn": &t.bn, "bk": &t.bk, "tm": &t.tm, "tn": &t.tn,
		"split": &t.split, "slices": &t.slices, "buffers": &t.buffers,
		"taps_first": &t.tapsFirst, "clamp": &t.clamp, "unroll": &t.unroll,
	}
}

// params is the tile as it is kept and shown.
func (t implicitTile) params() Params {
	p := Params{}
	for name, v := range t.fields() {
		p[name] = *v
	}
	return p
}

// readImplicitTile is the opposite of params. It fails for what is no tile.
func readImplicitTile(params Params) (implicitTile, error) {
	var t implicitTile
	if err := readParams(params, t.fields()); err != nil {
		return t, err
	}
	return t, t.validate()
}

// maxParam is far beyond any parameter that makes sense.
const maxParam = 4096

// readParams sets each field from the parameter of its name. It fails where a
// parameter is missing, has no field, or is out of range: they may come from a
// file.
func readParams(params Params, fields map[string]*int) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		field := fields[name]
		if field == nil {
			return fmt.Errorf("conv2d: there is no parameter %q", name)
		}
		if *field = params[name]; *field < 0 || *field > maxParam {
			return fmt.Errorf("conv2d: parameter %s is %d, must be from 0 to %d", name, *field, maxParam)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if _, ok := params[name]; !ok {
			return fmt.Errorf("conv2d: parameter %s is missing", name)
		}
	}
	return nil
}

// validate fails for a tile that the kernel cannot be compiled for.
func (t implicitTile) validate() error {
	for name, v := range map[string]int{
		"bm": t.bm, "bn": t.bn, "bk": t.bk, "tm": t.tm, "tn": t.tn, "split": t.split, "slices": t.slices,
	} {
		if v < 1 {
			return fmt.Errorf("conv2d: parameter %s is %d, must be at least 1", name, v)
		}
	}
	switch {
	case t.bm%packLocal != 0 || t.bn%4 != 0:
		return fmt.Errorf("conv2d: a tile of %dx%d is not a multiple of %dx4", t.bm, t.bn, packLocal)
	case t.tm%4 != 0 || t.tn%4 != 0 || t.bm%t.tm != 0 || t.bn%t.tn != 0:
		return fmt.Errorf("conv2d: a tile of %dx%d does not divide into parts of %dx%d", t.bm, t.bn, t.tm, t.tn)
	case t.slices != 1 && t.slices != 2 && t.slices != 4 || t.bk%t.slices != 0:
		return fmt.Errorf("conv2d: steps of %d do not divide into %d slices, which must be 1, 2 or 4", t.bk, t.slices)
	case t.invocations()%(t.bm/4) != 0 || t.invocations()%(t.bn/4) != 0:
		return fmt.Errorf("conv2d: %d invocations cannot share the columns of a tile of %dx%d", t.invocations(), t.bm, t.bn)
	case t.buffers != 1 && t.buffers != 2:
		return fmt.Errorf("conv2d: %d buffers, must be 1 or 2", t.buffers)
	case t.tapsFirst > 1 || t.clamp > 1 || t.unroll > 1:
		return fmt.Errorf("conv2d: taps_first is %d, clamp %d, unroll %d: each must be 0 or 1", t.tapsFirst, t.clamp, t.unroll)
	}
	return nil
}

// threads is the number of invocations of one slice.
func (t implicitTile) threads() int { return t.bm / t.tm * (t.bn / t.tn) }

func (t implicitTile) invocations() int { return t.slices * t.threads() }

// sharedBytes is what a group has in shared memory for its tiles.
func (t implicitTile) sharedBytes() int {
	bytes := 4 * t.buffers * t.bk * (t.bm + t.bn)
	return bytes + 4*t.bm*t.bn*(t.slices-1)/t.slices
}
