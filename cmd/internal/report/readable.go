package report

import "strconv"

func readableMillis(ms float64) string {
	switch {
	case ms == 0:
		return "-"
	case ms < 10:
		return strconv.FormatFloat(ms, 'f', 2, 64) + " ms"
	case ms < 10_000:
		return strconv.FormatFloat(ms, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(ms/1e3, 'f', 1, 64) + " s"
}

// shortMillis is readableMillis without the unit, for columns that name it.
func shortMillis(ms float64) string {
	if ms == 0 {
		return ""
	}
	return strconv.FormatFloat(ms, 'f', 1, 64)
}

func readableRate(rate float64) string {
	if rate < 0 {
		return "-"
	}
	return strconv.FormatFloat(100*rate, 'f', 1, 64) + "%"
}

// percent returns a share of a whole, for a style.
func percent(part, whole float64) string {
	return strconv.FormatFloat(100*part/whole, 'f', 2, 64)
}
