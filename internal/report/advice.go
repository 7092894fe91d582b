package report

import "fmt"

// Advice returns what would make the start faster, the largest gain first.
func (r *Report) Advice() (list []string) {
	s := r.Start
	if s == nil {
		return nil
	}
	late, asked, unused := sum(s.Programs, Late), sum(s.Programs, Asked), sum(s.Programs, Unused)
	if s.Origins.Compiled > 0 {
		list = append(list, fmt.Sprintf("%d programs were compiled, which took %s. Where this was not the first start: shadercache why NAME says why one was not found; a time stamp or a random name in the source makes another program of it at each start.",
			s.Origins.Compiled, readableMillis(compileMillis(s.Programs))))
	}
	if asked.count > 0 && asked.waited > 0 {
		list = append(list, fmt.Sprintf("%d programs were never preloaded: callers waited %s for them. Preload them, in the order of the list below.",
			asked.count, readableMillis(asked.waited)))
	}
	if late.count > 0 {
		list = append(list, fmt.Sprintf("%d programs were asked for while a preload still made them: callers waited %s. Preload earlier, or those first.",
			late.count, readableMillis(late.waited)))
	}
	if unused.count > 0 {
		list = append(list, fmt.Sprintf("%d programs were preloaded and never used, which took %s.", unused.count, readableMillis(unused.made)))
	}
	if slow := machineCode(s.Programs); slow > 0 {
		list = append(list, fmt.Sprintf("%d programs came from disk and took over 20 ms to load: the driver made their machine code again. shadercache doctor examines the driver's own cache.", slow))
	}
	return list
}

type sums struct {
	count        int
	waited, made float64
}

func sum(programs []Program, use Use) (s sums) {
	for _, p := range programs {
		if p.Use == use {
			s.count++
			s.waited += p.WaitedMillis
			s.made += p.MadeMillis()
		}
	}
	return s
}

func compileMillis(programs []Program) (ms float64) {
	for _, p := range programs {
		ms += p.CompileMillis + p.PrimeMillis
	}
	return ms
}

// slowLoad is the time of a load above which the driver made machine code: loads whose
// machine code is there take 0.2 to 2 ms (docs/measurements.md).
const slowLoad = 20

func machineCode(programs []Program) (count int) {
	for _, p := range programs {
		if p.Origin == "disk" && p.LoadMillis > slowLoad {
			count++
		}
	}
	return count
}
