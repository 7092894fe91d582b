package tables

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
