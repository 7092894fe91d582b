package cli

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Flags keep their value where a text is refused, and their String can be Set.
func TestFlags(t *testing.T) {
	for name, c := range map[string]struct {
		flag      pflag.Value
		good, bad []string
	}{
		"on|off":  {new(OnOff), []string{"on", "off"}, []string{"", "yes", "On"}},
		"WxH":     {&Pair{1, 1}, []string{"512x256", "1x1"}, []string{"", "512", "0x1", "1x2x3", "ax1"}},
		"percent": {new(Percentage), []string{"95%", "12.5%", "0%", "100%", "0.95%", "1%"}, []string{"", "-1", "101", "NaN", "x%", "0.95", "1"}},
		"level":   {new(LogLevel), []string{"debug", "info", "warn", "error"}, []string{"", "loud"}},
		"size":    {new(ByteSize), []string{"0", "4096"}, []string{"", "x"}},
		"age":     {new(Age), []string{"1h0m0s"}, []string{"", "x"}},
	} {
		if c.flag.Type() != name {
			t.Errorf("%s has the type %s", name, c.flag.Type())
		}
		for _, text := range c.good {
			if err := c.flag.Set(text); err != nil || c.flag.String() != text {
				t.Errorf("%s %q: %v, %v", name, text, c.flag, err)
			}
		}
		before := c.flag.String()
		for _, text := range c.bad {
			if err := c.flag.Set(text); err == nil || c.flag.String() != before {
				t.Errorf("%s %q was accepted as %v", name, text, c.flag)
			}
		}
	}
	var p Percentage
	if err := p.Set("95"); err != nil || p != 95 {
		t.Errorf("%v, %v", p, err)
	}
	if l := LogLevel(slog.LevelWarn); l.String() != "warn" {
		t.Error(l.String())
	}
}

func TestComplete(t *testing.T) {
	cmd := &cobra.Command{Use: "tool", Run: func(*cobra.Command, []string) {}}
	cmd.Flags().String("color", "", "")
	Complete(cmd, "color", "red", "green")
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"__complete", "--color", ""})
	if err := cmd.Execute(); err != nil || !strings.HasPrefix(out.String(), "red\ngreen\n") {
		t.Errorf("%q, %v", out.String(), err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a flag that does not exist was completed")
		}
	}()
	Complete(cmd, "size", "1")
}

func TestReadableRate(t *testing.T) {
	for rate, want := range map[float64]string{45_600: "45.6 k", 12_340_000: "12.34 M", 4.56e9: "4.56 G"} {
		if got := ReadableRate(rate); got != want {
			t.Errorf("%v: %q", rate, got)
		}
	}
}
