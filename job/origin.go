package job

import "slices"

// Origin is where a program came from.
type Origin uint8

// The origins of a program.
const (
	Compiled Origin = iota + 1
	Disk            // loaded from a binary in the store
	Memory          // loaded from a binary that stayed in memory after eviction
	Resident        // resident, or already being loaded for another caller
)

var origins = [...]string{"unknown", "compiled", "disk", "memory", "resident"}

// ParseOrigin returns the origin of a name, as String returns it, and 0 for another.
func ParseOrigin(name string) Origin {
	return Origin(max(0, slices.Index(origins[:], name)))
}

// String returns "compiled", "disk", "memory", "resident", or "unknown".
func (o Origin) String() string {
	if int(o) >= len(origins) {
		return origins[0]
	}
	return origins[o]
}

// MarshalText returns the text of String.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// UnmarshalText is ParseOrigin.
func (o *Origin) UnmarshalText(text []byte) error {
	*o = ParseOrigin(string(text))
	return nil
}
