package drivercache

// When the drivers read their caches, and so until when files may be added that this
// process is to find:
//
//	NVIDIA  at the first load or compile of the process, not when the context is made:
//	        it opens its slots then, and sees nothing that is added later
//	Mesa    at each load or compile: a file for each entry
//
// So a process that manages a directory does not use the slots in it before its first
// program, though it holds the shared lock, and they may be merged until then.

// FirstProgram records that the driver of this process is about to load or compile a
// program. It waits while files that the driver is to find are put into the managed
// directory. Package glctx calls it before each program; only the first call costs
// something. A program with a context of its own calls it where it also calls [Merge], or
// an import, in the same process.
func FirstProgram() {
	if process.programs.Load() {
		return
	}
	process.Lock()
	defer process.Unlock()
	if !process.programs.Load() {
		awaitSlot()
	}
	process.programs.Store(true)
}

// beforeFirstProgram calls work while this process's lock on dir is exclusive, and reports
// whether it did. It does not where this process does not manage dir, or has had a program,
// or is not the only one. What work or other processes add the first program finds.
func beforeFirstProgram(dir string, work func()) bool {
	process.Lock()
	defer process.Unlock()
	if process.programs.Load() || process.lock == nil || !process.state.IsIn(dir) {
		return false
	}
	<-process.filled
	process.stale = true
	return process.lock.exclusively(work)
}
