//go:build linux

package conv2d

import (
	"fmt"
)

// ImplicitParams are the parameters of implicit and of the winograd algorithms: how
// conv2d_implicit.comp cuts its product among groups and invocations. The kernel's
// file describes them.
type ImplicitParams struct {
	BK        int `json:"bk"`
	BM        int `json:"bm"`
	BN        int `json:"bn"`
	Buffers   int `json:"buffers"`
	Clamp     int `json:"clamp"`
	Fused     int `json:"fused,omitempty"`  // 1: the last group of a tile adds the parts of Split
	Gather    int `json:"gather,omitempty"` // 1: slices exchange all sums at once
	Slices    int `json:"slices"`
	Split     int `json:"split"`
	TapsFirst int `json:"taps_first"`
	TM        int `json:"tm"`
	TN        int `json:"tn"`
	Unroll    int `json:"unroll"`
}

// String returns the parameters as text.
func (t ImplicitParams) String() string { return paramsText(t) }

// validate fails for parameters that the kernel cannot be compiled with.
func (t ImplicitParams) validate() error {
	for name, v := range map[string]int{
		"bm": t.BM, "bn": t.BN, "bk": t.BK, "tm": t.TM, "tn": t.TN, "split": t.Split, "slices": t.Slices,
	} {
		if v < 1 {
			return fmt.Errorf("conv2d: parameter %s is %d, must be at least 1", name, v)
		}
	}
	switch {
	case t.BM%packLocal != 0 || t.BN%4 != 0:
		return fmt.Errorf("conv2d: a tile of %dx%d is not a multiple of %dx4", t.BM, t.BN, packLocal)
	case t.TM%4 != 0 || t.TN%4 != 0 || t.BM%t.TM != 0 || t.BN%t.TN != 0:
		return fmt.Errorf("conv2d: a tile of %dx%d does not divide into parts of %dx%d", t.BM, t.BN, t.TM, t.TN)
	case t.Slices != 1 && t.Slices != 2 && t.Slices != 4 || t.BK%t.Slices != 0:
		return fmt.Errorf("conv2d: steps of %d do not divide into %d slices, which must be 1, 2 or 4", t.BK, t.Slices)
	case t.invocations()%(t.BM/4) != 0 || t.invocations()%(t.BN/4) != 0:
		return fmt.Errorf("conv2d: %d invocations cannot share the columns of a tile of %dx%d", t.invocations(), t.BM, t.BN)
	case t.Buffers != 1 && t.Buffers != 2:
		return fmt.Errorf("conv2d: %d buffers, must be 1 or 2", t.Buffers)
	case t.Fused > 1 || t.Fused == 1 && t.Split == 1:
		return fmt.Errorf("conv2d: fused is %d with %d parts, must be 0, or 1 with several", t.Fused, t.Split)
	case t.Gather > 1 || t.Gather == 1 && t.Slices == 1:
		return fmt.Errorf("conv2d: gather is %d with %d slices, must be 0, or 1 with several", t.Gather, t.Slices)
	case t.TapsFirst > 1 || t.Clamp > 1 || t.Unroll > 1:
		return fmt.Errorf("conv2d: taps_first is %d, clamp %d, unroll %d: each must be 0 or 1", t.TapsFirst, t.Clamp, t.Unroll)
	}
	return nil
}

// threads returns the number of invocations of one slice.
func (t ImplicitParams) threads() int { return t.BM / t.TM * (t.BN / t.TN) }

func (t ImplicitParams) invocations() int { return t.Slices * t.threads() }

// sharedBytes returns the shared memory of a group's tiles.
func (t ImplicitParams) sharedBytes() int {
	bytes := 4 * t.Buffers * t.BK * (t.BM + t.BN)
	if t.Fused == 1 {
		bytes += semaphoreBytes
	}
	exchanged := 4 * t.BM * t.BN * (t.Slices - 1)
	if t.Gather == 0 {
		exchanged /= t.Slices
	}
	return bytes + exchanged
}
