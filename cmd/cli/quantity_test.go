package cli

import (
	"testing"
	"time"
)

func TestByteSize(t *testing.T) {
	sizes := map[string]int64{
		"0": 0, "512": 512, "1K": 1 << 10, "500M": 500 << 20, "1.5G": 3 << 29,
		"2GiB": 2 << 30, "2gb": 2 << 30, "10 MB": 10 << 20, "7B": 7, "1T": 1 << 40,
	}
	for text, want := range sizes {
		var b ByteSize
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%q is %d, %v; want %d", text, b, err, want)
		}
	}
	for _, text := range []string{"", "M", "-1", "-0.5K", "12Q", "1KM", "1e30", "NaN", "Inf", "0x10", "5 5"} {
		var b ByteSize
		if err := b.Set(text); err == nil {
			t.Errorf("%q was accepted as %d", text, b)
		}
	}
}

func TestAge(t *testing.T) {
	ages := map[string]time.Duration{
		"30d": 30 * 24 * time.Hour, "2w": 14 * 24 * time.Hour, "1.5d": 36 * time.Hour,
		"12h": 12 * time.Hour, "90m": 90 * time.Minute, "0": 0,
	}
	for text, want := range ages {
		var a Age
		if err := a.Set(text); err != nil || time.Duration(a) != want {
			t.Errorf("%q is %v, %v; want %v", text, &a, err, want)
		}
	}
	for _, text := range []string{"", "30", "d", "-1d", "-5m", "1e9w", "NaNd", "yesterday"} {
		var a Age
		if err := a.Set(text); err == nil {
			t.Errorf("%q was accepted as %v", text, &a)
		}
	}
}

func TestReadableQuantities(t *testing.T) {
	for got, want := range map[string]string{
		ReadableBytes(0):                            "0 B",
		ReadableBytes(1023):                         "1023 B",
		ReadableBytes(1536):                         "1.5 KiB",
		ReadableBytes(3 << 30):                      "3.0 GiB",
		ReadableDuration(250 * time.Microsecond):    "0.25 ms",
		ReadableDuration(12 * time.Millisecond):     "12 ms",
		ReadableDuration(1855 * time.Millisecond):   "1.9 s",
		ReadableDuration(75 * time.Second):          "75 s",
		ReadableAge(30 * time.Second):               "just now",
		ReadableAge(5 * time.Hour):                  "5h",
		ReadableAge(3 * 24 * time.Hour):             "3d",
		Plural(1, "program") + Plural(2, "program"): "1 program2 programs",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
