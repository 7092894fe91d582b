package tables

import (
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/cmd/bench/stats"
)

// residentProgramsTable returns BenchmarkGetResident.
func residentProgramsTable(l *logs) string {
	h200, here := l.goBench("h200/cache.txt"), l.goBench("llvmpipe/cache.txt")
	t := newTable("", "H200's CPU, 16", "EPYC, 2 CPUs", "allocations")
	for _, r := range []struct{ what, bench string }{
		{"one goroutine", "GetResident"},
		{"8 goroutines, one program", "GetResidentParallel/same"},
		{"8 goroutines, 8 programs", "GetResidentParallel/distinct"},
	} {
		t.row(r.what, between(h200[r.bench]["ns/op"], "ns"), between(here[r.bench]["ns/op"], "ns"),
			between(append(h200[r.bench]["allocs/op"], here[r.bench]["allocs/op"]...), ""))
	}
	return t.String()
}

// programsInMemoryTable returns BenchmarkResidentMemory and BenchmarkSwitch.
func programsInMemoryTable(l *logs) string {
	h200, here := l.goBench("h200/conv2d.txt"), l.goBench("llvmpipe/conv2d.txt")
	t := newTable("", "H200", "llvmpipe")
	memory := func(lines map[string]map[string][]float64) string {
		return fmt.Sprintf("%.1f MiB", stats.Median(lines["ResidentMemory"]["MiB/100-programs"]))
	}
	t.row("100 resident programs, loaded from disk, over the bare context", memory(h200), memory(here))
	for _, n := range []int{1, 16} {
		what := fmt.Sprintf("use and dispatch, %d programs in turn", n)
		if n == 1 {
			what = "use and dispatch, the same program again and again"
		}
		t.row(what, fmt.Sprintf("%.2f us", stats.Median(h200[fmt.Sprintf("Switch/programs=%d", n)]["us/dispatch"])), "")
	}
	return t.String()
}

// storeTable returns BenchmarkStoreOpenGet.
func storeTable(l *logs) string {
	h200, here := l.goBench("h200/binary.txt"), l.goBench("llvmpipe/binary.txt")
	t := newTable("programs on disk", "H200's machine", "EPYC, 2 CPUs")
	for _, n := range []struct{ name, programs string }{{"100", "100"}, {"10,000", "10000"}} {
		bench := "StoreOpenGet/programs=" + n.programs
		t.row(n.name, fmt.Sprintf("%.1f us", stats.Median(h200[bench]["ns/op"])/1e3), fmt.Sprintf("%.1f us", stats.Median(here[bench]["ns/op"])/1e3))
	}
	return t.String()
}

// between returns the median of several runs, with their least and most where those
// differ.
func between(values []float64, unit string) string {
	if len(values) == 0 {
		return ""
	}
	if unit != "" {
		unit = " " + unit
	}
	least, most := fmt.Sprintf("%.0f", slices.Min(values)), fmt.Sprintf("%.0f", slices.Max(values))
	if least == most {
		return least + unit
	}
	return fmt.Sprintf("%.0f%s (%s to %s)", stats.Median(values), unit, least, most)
}
