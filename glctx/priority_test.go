//go:build linux

package glctx

import (
	"slices"
	"strings"
	"testing"
)

// TestPriorities opens a context of each priority and runs a callback. What the driver
// grants is logged; a driver without the extension grants the default.
func TestPriorities(t *testing.T) {
	for _, p := range []string{"", "low", "medium", "high"} {
		c, err := Open(Options{Priority: p, DriverCacheOff: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: requested %v, granted %v", c.Info().GPU, p, c.Priority())
		if c.Info().Software() && c.Priority() != "" {
			t.Errorf("%v is granted without the extension", c.Priority())
		}
		if err := c.Do(func(gl *GL) error { return gl.Err() }); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := Open(Options{Priority: "urgent"}); err == nil || !strings.Contains(err.Error(), `unknown priority "urgent"`) {
		t.Error(err)
	}
	if _, err := Adopt(Options{Priority: "low"}, nil); err == nil || !strings.Contains(err.Error(), "leave Priority empty") {
		t.Error(err)
	}
}

// TestPriorityAttributes checks the requests: each list of attributes with the level first,
// and then those without, for drivers that refuse it.
func TestPriorityAttributes(t *testing.T) {
	lists := Kind{}.attributes(false)
	if got := withPriority("", lists); len(got) != len(lists) {
		t.Errorf("%d lists for the default, not %d", len(got), len(lists))
	}
	for p, level := range map[string]int32{"low": 0x3103, "medium": 0x3102, "high": 0x3101} {
		got := withPriority(p, lists)
		if len(got) != 2*len(lists) {
			t.Fatalf("%d lists for %v", len(got), p)
		}
		for i, list := range lists {
			if !slices.Equal(got[i], append(slices.Clone(list), 0x3100, level)) || !slices.Equal(got[len(lists)+i], list) {
				t.Errorf("%v: %x and %x", p, got[i], got[len(lists)+i])
			}
		}
		if granted := priorityOf(level); granted != p {
			t.Errorf("%#x is %v, not %v", level, granted, p)
		}
	}
	if granted := priorityOf(-1); granted != "" {
		t.Errorf("no answer is %v", granted)
	}
}
