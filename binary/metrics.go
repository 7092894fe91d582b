package binary

// EachMetric calls show with each counter under its name for monitoring, without a prefix,
// such as compiles_total, and with a sentence: times in seconds, as Prometheus wants them.
func (c Counters) EachMetric(show func(name, help string, value float64)) {
	count := func(n uint64) float64 { return float64(n) }
	seconds := func(nanos int64) float64 { return float64(max(nanos, 0)) / 1e9 }
	for _, m := range []struct {
		name, help string
		value      float64
	}{
		{"starts_total", "Processes that got programs.", count(c.Starts)},
		{"resident_hits_total", "Requests answered by a resident program.", count(c.ResidentHits)},
		{"memory_hits_total", "Requests answered by a binary in memory.", count(c.MemoryHits)},
		{"disk_hits_total", "Requests answered from disk.", count(c.DiskHits)},
		{"upstream_hits_total", "Of those from disk, those of an upstream directory.", count(c.UpstreamHits)},
		{"upstream_misses_total", "Requests that an upstream directory did not answer.", count(c.UpstreamMisses)},
		{"compiles_total", "Programs compiled.", count(c.Compiles)},
		{"store_only_compiles_total", "Of the programs compiled, those for the store alone.", count(c.StoreOnly)},
		{"compile_errors_total", "Sources that failed to compile.", count(c.CompileErrors)},
		{"negative_hits_total", "Requests answered with a recorded compile error.", count(c.NegativeHits)},
		{"rejected_total", "Binaries that the driver refused.", count(c.Rejected)},
		{"damaged_total", "Binaries that a checksum refused.", count(c.Damaged)},
		{"wrong_answers_total", "Binaries that failed their check.", count(c.WrongAnswers)},
		{"trials_total", "Suspects that were tried in a child process.", count(c.Trials)},
		{"quarantines_total", "Programs that crashed or hung the driver.", count(c.Quarantined)},
		{"refusals_total", "Requests for programs in quarantine.", count(c.Refusals)},
		{"evictions_total", "Programs evicted from memory.", count(c.Evictions)},
		{"over_capacity_total", "Times that the limit was exceeded: every program was in use.", count(c.OverCapacity)},
		{"out_of_memory_total", "Times that the driver was out of memory.", count(c.OutOfMemory)},
		{"low_memory_total", "Times that programs were evicted since the GPU's memory was low.", count(c.LowMemory)},
		{"stored_total", "Binaries written.", count(c.Stored)},
		{"backfilled_total", "Binaries copied from an upstream directory.", count(c.Backfilled)},
		{"store_failures_total", "Reads and writes that failed.", count(c.StoreFailures)},
		{"machine_code_misses_total", "Programs that were loaded and whose machine code was made again.", count(c.MachineCodeMisses)},
		{"first_ready_seconds_total", "Time of all starts until the first program was ready.", seconds(c.FirstNanos)},
		{"compile_seconds_total", "Time spent compiling.", seconds(c.CompileNanos)},
		{"load_seconds_total", "Time spent loading.", seconds(c.LoadNanos)},
		{"upstream_load_seconds_total", "Of that time, for binaries of an upstream directory.", seconds(c.UpstreamNanos)},
		{"memory_load_seconds_total", "Of that time, for binaries in memory.", seconds(c.MemoryNanos)},
		{"saved_seconds_total", "Compile time saved.", seconds(c.SavedNanos)},
		{"loaded_bytes_total", "Size of the binaries loaded from disk.", float64(c.LoadedBytes)},
		{"upstream_bytes_total", "Of those bytes, those of an upstream directory.", float64(c.UpstreamBytes)},
	} {
		show(m.name, m.help, m.value)
	}
}
