package tables

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/shadercache/shadercache/cmd/bench/stats"
)

// machine is a folder of logs.
type machine struct{ folder, name string }

var machines = []machine{{"h200", "H200"}, {"llvmpipe", "llvmpipe"}}

// has returns the machines that have a log.
func (l *logs) has(log string) (some []machine) {
	for _, m := range machines {
		if _, err := os.Stat(filepath.Join(l.root, m.folder, log)); err == nil {
			some = append(some, m)
		}
	}
	return some
}

// targetsTable compares the figures that the project set out with to what was measured.
func targetsTable(l *logs) string {
	t := newTable("target", "measured", "machine, log", "reached")
	row := func(target, measured, where string, reached bool) {
		answer := "no"
		if reached {
			answer = "yes"
		}
		t.row(target, measured, where, answer)
	}
	clients := l.goBench("h200/clients.txt")["FirstResult"]
	c, goMillis := stats.Median(clients["c-ms"]), stats.Median(clients["go-ms"])
	row("a start under 10 ms, through the server", fmt.Sprintf("%.1f ms in C, %.1f ms in Go, exec to verified result", c, goMillis), "H200, `clients.txt`", max(c, goMillis) < 10)
	for _, m := range machines {
		s := l.startup(m.folder + "/startup-preload.json")
		both := s.Scenarios["both"]
		row("the same without a server: 48 programs", fmt.Sprintf("%.1f ms, of which EGL and the context take %.1f", both.Process, both.Context),
			m.name+", `startup-preload.json`, both layers warm", both.Process < 10)
	}
	for _, m := range machines {
		s := l.startup(m.folder + "/startup.json")
		cold, both := s.Scenarios["cold"].Process, s.Scenarios["both"].Process
		row("90% of a start's time saved", fmt.Sprintf("%.1f%%: %s ms to %.1f ms", 100*(1-both/cold), thousands(cold), both),
			m.name+", `startup.json`, cold and both layers warm", both < cold/10)
	}
	turns := l.goBench("h200/conv2d.txt")["Switch/programs=16"]["us/dispatch"]
	row("a switch of programs under 0.01 ms", fmt.Sprintf("%.2f us with 16 programs in turn", stats.Median(turns)), "H200, `conv2d.txt`", stats.Median(turns) < 10)
	for _, m := range l.has("zipf.txt") {
		for _, start := range []string{"first", "second"} {
			rate := stats.Median(l.zipf(m, start)["no-compile-%"])
			row("a hit rate over 95% on a Zipf trace, "+start+" start", fmt.Sprintf("%.1f%% of requests compiled nothing", rate), m.name+", `zipf.txt`", rate > 95)
		}
		resident := stats.Median(l.zipf(m, "second")["resident-%"])
		row("the same of resident programs alone, a quarter of all", fmt.Sprintf("%.1f%%", resident), m.name+", `zipf.txt`", resident > 95)
	}
	for _, m := range l.has("zipf.txt") {
		load := l.zipf(m, "second")
		p50, p99 := stats.Median(load["disk-p50-ms"]), stats.Median(load["disk-p99-ms"])
		row("a load under 5 ms", fmt.Sprintf("median %.2f ms, 99%% %.2f ms, %.0f%% under 5 ms", p50, p99, stats.Median(load["disk-under-5-%"])),
			m.name+", `zipf.txt`, from disk", p99 < 5)
	}
	type run struct {
		Millis float64 `json:"time_to_first_result_ms"`
	}
	without, with := readLog[run](l, "h200/run1.json").Millis, readLog[run](l, "h200/run2.json").Millis
	row("5 to 10% gained by a program from end to end", fmt.Sprintf("%.0f%%: a picture after %.0f ms, without %.0f ms", 100*(1-with/without), with, without),
		"H200, `run1.json` and `run2.json`", with < 0.95*without)
	host := stats.Median(l.goBench("h200/conv2d.txt")["ResidentMemory"]["MiB/100-programs"])
	row("100 programs below 50 MB, of the host", fmt.Sprintf("%.1f MiB", host), "H200, `conv2d.txt`", host < 50)
	for _, m := range l.has("gpu-memory.txt") {
		gpu := stats.Median(l.goBench(m.folder + "/gpu-memory.txt")["GPUMemory"]["programs-KiB"])
		row("100 programs below 50 MB, of the GPU", fmt.Sprintf("%.1f MiB", gpu/1024), m.name+", `gpu-memory.txt`", gpu < 50*1024)
	}
	return t.String()
}

func (l *logs) zipf(m machine, start string) map[string][]float64 {
	return l.goBench(m.folder + "/zipf.txt")["Zipf/"+start]
}

// togetherTable is BenchmarkTogether.
func togetherTable(l *logs) string {
	t := newTable("48 programs, empty directory", "compiles", "context", "mean of the processes", "the slowest")
	for _, m := range l.has("together.txt") {
		for _, r := range []struct{ what, bench string }{
			{"one process", "alone"}, {"one process, sharing", "alone-sharing"}, {"four", "four"}, {"four, sharing", "four-sharing"},
		} {
			lines := l.goBench(m.folder + "/together.txt")["Together/"+r.bench]
			millis := func(unit string) string { return thousands(stats.Median(lines[unit])) + " ms" }
			t.row(m.name+", "+r.what, fmt.Sprintf("%.0f", stats.Median(lines["compiles"])), millis("open-ms"), millis("mean-ms"), millis("slowest-ms"))
		}
	}
	return t.String()
}
