package cli

import (
	"strings"
	"testing"
	"time"
)

func TestCPUModel(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmodel name\t: AMD EPYC 9654: 96 cores\nprocessor\t: 1\nmodel name\t: other\n": "AMD EPYC 9654: 96 cores",
		"processor\t: 0\nBogoMIPS\t: 50.0\n": "unknown",
		"model name\t:\n":                    "unknown",
		"":                                   "unknown",
	} {
		if got := cpuModel(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestOriginIsWhole(t *testing.T) {
	o := NewOrigin()
	date, err := time.Parse(time.RFC3339, o.Date)
	if err != nil || time.Since(date) > time.Minute || o.CPU == "" || o.CPUs < 1 || o.System == "" || o.Version == "" || o.Revision == "" {
		t.Errorf("%+v, %v", o, err)
	}
	o = Origin{CPU: "Xeon", CPUs: 16, Load: 0.25, System: "linux 6.18 amd64", Date: "2026-01-02T03:04:05Z", Version: "v1.2.3", Revision: "abc"}
	busy := o
	if busy.Load = 16.5; !strings.Contains(busy.String(), "load 16.5: BUSY") {
		t.Errorf("got %q", busy.String())
	}
	if got, want := o.String(), "Xeon, 16 CPUs, linux 6.18 amd64, load 0.2\n2026-01-02T03:04:05Z, shadercache v1.2.3 (abc)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
