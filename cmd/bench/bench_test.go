package bench

import (
	"encoding/json"
	"strings"
	"testing"

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
