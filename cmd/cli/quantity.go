package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ByteSize is a flag of bytes: "500M", "2G", "1048576". K, M, G and T are
// powers of 1024, and may be written KB or KiB too.
type ByteSize int64

func (b *ByteSize) Type() string { return "size" }

func (b *ByteSize) String() string { return strconv.FormatInt(int64(*b), 10) }

func (b *ByteSize) Set(text string) error {
	number := strings.TrimRight(text, "KMGTBikmgtb ")
	unit := strings.ToUpper(strings.TrimSpace(text[len(number):]))
	unit = strings.TrimSuffix(strings.TrimSuffix(unit, "B"), "I")
	power := strings.Index("KMGT", unit)
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || power < 0 || len(unit) > 1 || math.Signbit(value) {
		return fmt.Errorf("%q is not a size such as 500M or 2G", text)
	}
	if unit != "" {
		value *= math.Pow(1024, float64(power+1))
	}
	// The negation is true for NaN too.
	if !(value < math.MaxInt64) {
		return fmt.Errorf("%q is too large", text)
	}
	*b = ByteSize(value)
	return nil
}

// ReadableBytes returns a size with its unit: "512 B", "17.5 KiB", "1.2 GiB".
func ReadableBytes(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, units := float64(n)/1024, "KMGT"
	for value >= 1024 && len(units) > 1 {
		value, units = value/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", value, units[0])
}

// Age is a flag of time: "30d", "2w", and what time.ParseDuration reads.
type Age time.Duration

func (a *Age) Type() string { return "age" }

func (a *Age) String() string { return time.Duration(*a).String() }

func (a *Age) Set(text string) error {
	whole, err := time.ParseDuration(text)
	d := float64(whole)
	for suffix, unit := range map[string]time.Duration{"d": 24 * time.Hour, "w": 7 * 24 * time.Hour} {
		if number, found := strings.CutSuffix(text, suffix); found {
			d, err = strconv.ParseFloat(number, 64)
			d *= float64(unit)
		}
	}
	if err != nil || !(d >= 0 && d < math.MaxInt64) {
		return fmt.Errorf("%q is not an age such as 30d or 12h", text)
	}
	*a = Age(d)
	return nil
}

// ReadableAge returns an age: "3d", "5h", "12m", "just now".
func ReadableAge(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return "just now"
}

// Percentage is a flag from 0 to 100: "95%" or "95". A number up to 1 needs the sign, since
// it may be meant as a fraction.
type Percentage float64

func (p *Percentage) Type() string { return "percent" }

func (p *Percentage) String() string { return strconv.FormatFloat(float64(*p), 'f', -1, 64) + "%" }

func (p *Percentage) Set(text string) error {
	value, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(value >= 0 && value <= 100) {
		return fmt.Errorf("%q is not a percentage such as 95%%", text)
	}
	if value > 0 && value <= 1 && !strings.HasSuffix(text, "%") {
		return fmt.Errorf("%q may be a fraction or a percentage: write %g%% or %g%%", text, 100*value, value)
	}
	*p = Percentage(value)
	return nil
}
