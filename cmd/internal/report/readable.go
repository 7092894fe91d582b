package report

import (
	"strconv"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
)

func readableMillis(ms float64) string {
	if ms == 0 {
		return "-"
	}
	return cli.ReadableDuration(time.Duration(ms * float64(time.Millisecond)))
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
