package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"
)

// originFields is the part of the help about where figures come from.
const OriginFields = `origin {cpu, cpus, load, system, date, version, revision}`

// Origin says where and when figures were measured, so that a file of them speaks
// for itself. GPU and driver are the result's own.
type Origin struct {
	CPU      string  `json:"cpu"`
	CPUs     int     `json:"cpus"`   // that this process may use
	Load     float64 `json:"load"`   // processes that wanted a CPU in the minute before
	System   string  `json:"system"` // kernel and architecture
	Date     string  `json:"date"`   // begin of the measurement, UTC
	Version  string  `json:"version"`
	Revision string  `json:"revision"`
}

// NewOrigin is to be asked for before the work that is measured. What the system
// does not tell is "unknown".
func NewOrigin() Origin {
	v := ReadVersion()
	o := Origin{
		CPU: "unknown", CPUs: runtime.GOMAXPROCS(0), System: runtime.GOOS + " unknown " + runtime.GOARCH,
		Date: time.Now().UTC().Format(time.RFC3339), Version: v.Version, Revision: v.Revision,
	}
	if v.Modified {
		o.Revision += " with changes"
	}
	if file, err := os.Open("/proc/cpuinfo"); err == nil {
		defer file.Close()
		o.CPU = cpuModel(file)
	}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		o.System = runtime.GOOS + " " + strings.TrimSpace(string(release)) + " " + runtime.GOARCH
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(load), &o.Load)
	}
	return o
}

// cpuModel is the name of the first processor, as /proc/cpuinfo has it.
func cpuModel(cpuinfo io.Reader) string {
	lines := bufio.NewScanner(cpuinfo)
	for lines.Scan() {
		if name, value, found := strings.Cut(lines.Text(), ":"); found && strings.TrimSpace(name) == "model name" {
			return cmp.Or(strings.TrimSpace(value), "unknown")
		}
	}
	return "unknown"
}

// String is two lines for people.
func (o Origin) String() string { return o.Machine() + "\n" + o.Moment() }

// Machine says so where something else was running.
func (o Origin) Machine() string {
	busy := ""
	if o.Load > float64(o.CPUs) {
		busy = ": BUSY, figures vary"
	}
	return fmt.Sprintf("%s, %s, %s, load %.1f%s", o.CPU, Plural(o.CPUs, "CPU"), o.System, o.Load, busy)
}

// Moment is when, and of what version.
func (o Origin) Moment() string {
	return fmt.Sprintf("%s, shadercache %s (%s)", o.Date, o.Version, o.Revision)
}
