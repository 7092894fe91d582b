package binary

import "strings"

// deniedRenderers lists drivers whose program binaries load and then draw or compute wrong, or end
// the process, as others found. Compiling their sources works.
//
//	renderer begins with      reported by
//	Adreno (TM) 2 to 5        github.com/mapbox/mapbox-gl-native/pull/9574 and 11047, crbug.com/510637
//	Vivante GC4000            github.com/mapbox/mapbox-gl-native/issues/10704
//	PowerVR Rogue             anglebug.com/42263580: ANGLE offers no binaries there
var deniedRenderers = []string{"Adreno (TM) 2", "Adreno (TM) 3", "Adreno (TM) 4", "Adreno (TM) 5", "Vivante GC4000", "PowerVR Rogue"}

// denied reports whether the program binaries of this driver are known to misbehave.
func (f Fingerprint) denied() bool {
	for _, renderer := range deniedRenderers {
		if strings.HasPrefix(f.Renderer, renderer) {
			return true
		}
	}
	return false
}
