package main

import "fmt"

// executorTable returns the rows of bench executor. The length of a kernel that a row
// asks for and the measured one differ where the shortest kernel is longer.
func executorTable(l executorLog) string {
	alone := map[string]string{}
	for _, p := range l.Parts {
		alone[fmt.Sprint(p.KernelMicros, p.Bytes)] = fmt.Sprintf("%.1f", p.MeasuredMicros)
	}
	t := newTable("kernel", "it takes alone, us", "each way", "depth", "delay allowed", "us a job", "jobs/s against depth 1", "of the bound",
		"jobs to a fence", "Submit, us", "CPU of one core", "allocations a job")
	for _, r := range l.Rows {
		t.row(fmt.Sprintf("%g us", r.KernelMicros), alone[fmt.Sprint(r.KernelMicros, r.Bytes)], size(r.Bytes), fmt.Sprint(r.Depth), delay(r.MaxDelayMicros),
			fmt.Sprintf("%.2f", 1e6/r.JobsPerSecond), fmt.Sprintf("%.2f", r.SpeedupVsDepth1), fmt.Sprintf("%.2f", r.OfBound),
			fmt.Sprintf("%.0f", r.JobsPerBatch), fmt.Sprintf("%.2f", r.SubmitMicros), fmt.Sprintf("%.0f%%", r.CPUPercent),
			fmt.Sprintf("%.2f", r.AllocationsAJob))
	}
	return t.String()
}

func size(bytes int) string {
	if bytes >= 1<<20 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

func delay(micros float64) string {
	if micros == 0 {
		return ""
	}
	return fmt.Sprintf("%g ms", micros/1e3)
}

// row returns the row of a depth without a delay, zero where there is none.
func (l executorLog) row(kernel float64, bytes, depth int) (row executorRow) {
	for _, r := range l.Rows {
		if r.KernelMicros == kernel && r.Bytes == bytes && r.Depth == depth && r.MaxDelayMicros == 0 {
			return r
		}
	}
	return row
}

// micros returns the time of a job.
func (r executorRow) micros() float64 { return 1e6 / r.JobsPerSecond }

// dispatchTable returns the figures of bench dispatch, in microseconds.
func dispatchTable(l dispatchLog) string {
	t := newTable("what", "us")
	for _, r := range []struct {
		what   string
		micros float64
	}{
		{"recording a dispatch", l.Record},
		{"a dispatch in a row, until done", l.Dispatch},
		{"dispatch, flush and fence, until reached", l.Fence},
		{"Submit, the caller's side", l.Submit},
		{"Submit and Wait, one at a time", l.RoundTrip},
		{"through the executor, many pending, each", l.Pipelined},
	} {
		t.row(r.what, fmt.Sprintf("%.2f", r.micros))
	}
	for _, s := range l.Switches {
		t.row(fmt.Sprintf("a dispatch of %d programs in turn, which add to one word", s.Programs), fmt.Sprintf("%.2f", s.Micros))
	}
	t.row("from the end of one to the begin of the next on the GPU's clock, median and 99%", fmt.Sprintf("%.2f, %.2f", l.Gap.Median, l.Gap.P99))
	return t.String()
}
