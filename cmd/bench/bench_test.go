package bench

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
)

func TestHeader(t *testing.T) {
	h := Header{GPU: "G", Driver: "D", Origin: cli.Origin{CPU: "C"}}
	var text strings.Builder
	h.Print(&text, "x on G")
	if got := text.String(); !strings.HasPrefix(got, "x on G\ndriver D\nC, ") || !strings.HasSuffix(got, "\n") {
		t.Errorf("got %q", got)
	}
	if data, err := json.Marshal(h); err != nil || strings.Contains(string(data), "driver_cache") {
		t.Errorf("got %s, %v", data, err)
	}
	h.DriverCache = "empty"
	text.Reset()
	h.Print(&text, "x on G")
	PrintVerified(&text, true, "good", "BAD")
	PrintVerified(&text, false, "good", "BAD")
	if got := text.String(); !strings.Contains(got, "\ndriver's own cache: empty\n") || !strings.HasSuffix(got, "\ngood\nBAD\n") {
		t.Errorf("got %q", got)
	}
	if err := Unverified("x"); err.Error() != "bench: x" || cli.HintFor(err) == "" {
		t.Errorf("got %v", err)
	}
}

// sink keeps an allocation from being optimized away.
var sink []byte

// The counters of this process grow with what it does.
func TestProcessCounters(t *testing.T) {
	cpu, allocations := CPUTime(), Allocations()
	for CPUTime() <= cpu || Allocations() <= allocations {
		sink = make([]byte, 1<<10)
	}
	if ResidentBytes() <= 0 || CPUPercent(cpu, time.Hour) <= 0 {
		t.Errorf("%d bytes resident, %v%% of a CPU", ResidentBytes(), CPUPercent(cpu, time.Hour))
	}
	if a, b := CountSource(1), CountSource(2); a.Key() == b.Key() || a.Name() != "bench_count_1" {
		t.Errorf("programs %s and %s are the same", a.Name(), b.Name())
	}
}
