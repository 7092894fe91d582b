package cli

import (
	"cmp"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Origin is where and when figures were measured, for files that are kept. GPU and
// driver are fields of the results.
type Origin struct {
	CPU      string  `json:"cpu"`      // model
	CPUs     int     `json:"cpus"`     // of this process
	Load     float64 `json:"load"`     // average of the minute before
	System   string  `json:"system"`   // kernel and architecture
	Date     string  `json:"date"`     // of the begin, UTC
	Version  string  `json:"version"`  // of shadercache
	Revision string  `json:"revision"` // that it was built from
}

// NewOrigin returns the origin of a measurement that begins now. What cannot be read
// from the system is "unknown".
func NewOrigin() Origin {
	v := ReadVersion()
	o := Origin{
		CPU: "unknown", CPUs: runtime.GOMAXPROCS(0), System: runtime.GOOS + " unknown " + runtime.GOARCH,
		Date: time.Now().UTC().Format(time.RFC3339), Version: v.Version, Revision: v.Revision,
	}
	if v.Modified {
		o.Revision += " with changes"
	}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		o.CPU = cpuModel(string(text))
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		o.System = runtime.GOOS + " " + strings.TrimSpace(string(release)) + " " + runtime.GOARCH
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(load), &o.Load)
	}
	return o
}

// cpuModel returns the name of the first processor in /proc/cpuinfo.
func cpuModel(cpuinfo string) string {
	_, model, _ := strings.Cut(cpuinfo, "model name\t:")
	model, _, _ = strings.Cut(model, "\n")
	return cmp.Or(strings.TrimSpace(model), "unknown")
}

// String returns two lines.
func (o Origin) String() string { return o.Machine() + "\n" + o.Moment() }

// Machine returns the machine, with a warning where it was busy.
func (o Origin) Machine() string {
	busy := ""
	if o.Load > float64(o.CPUs) {
		busy = ": BUSY, figures vary"
	}
	return fmt.Sprintf("%s, %s, %s, load %.1f%s", o.CPU, Plural(o.CPUs, "CPU"), o.System, o.Load, busy)
}

// Moment returns date and version.
func (o Origin) Moment() string {
	return fmt.Sprintf("%s, shadercache %s (%s)", o.Date, o.Version, o.Revision)
}
