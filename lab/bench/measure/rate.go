package measure

import "fmt"

// ReadableRate returns a number per second for people: "12.3 M", "4.56 G".
func ReadableRate(perSecond float64) string {
	switch {
	case perSecond >= 1e9:
		return fmt.Sprintf("%.2f G", perSecond/1e9)
	case perSecond >= 1e6:
		return fmt.Sprintf("%.2f M", perSecond/1e6)
	}
	return fmt.Sprintf("%.1f k", perSecond/1e3)
}
