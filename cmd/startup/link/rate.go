package link

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rate is a flag of a bandwidth, in bits per second: "100Mb/s", "1Gb/s". 0 is no limit.
type Rate float64

// Type returns the name of the type for help pages.
func (r *Rate) Type() string { return "rate" }

// String returns the rate with its unit.
func (r *Rate) String() string {
	switch v := float64(*r); {
	case v >= 1e9:
		return strconv.FormatFloat(v/1e9, 'g', 4, 64) + "Gb/s"
	case v >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "Mb/s"
	default:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "kb/s"
	}
}

// Set reads a rate.
func (r *Rate) Set(text string) error {
	for unit, factor := range map[string]float64{"kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9} {
		number, found := strings.CutSuffix(text, unit)
		if !found {
			continue
		}
		value, err := strconv.ParseFloat(number, 64)
		if err != nil || !(value > 0) || math.IsInf(value*factor, 0) {
			break
		}
		*r = Rate(value * factor)
		return nil
	}
	return fmt.Errorf("%q is no bandwidth such as 100Mb/s or 1Gb/s", text)
}
