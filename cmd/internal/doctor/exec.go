package doctor

import (
	"time"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

const execCheck = "exec"

// runsJudged is the number of runs of a program that show whether its starts are warm: the
// first is expected to add.
const runsJudged = 3

// examineRuns examines the runs of exec --report. Without any there is no finding.
func (r *Report) examineRuns(dir *binary.Dir) {
	byProgram := map[string][]binary.Run{}
	var order []string
	for _, run := range dir.Runs(time.Time{}) {
		if byProgram[run.Program] == nil {
			order = append(order, run.Program)
		}
		byProgram[run.Program] = append(byProgram[run.Program], run)
	}
	for _, program := range order {
		runs := byProgram[program]
		last := runs[max(len(runs)-runsJudged, 0):]
		added, cold := 0, 0
		for _, run := range last {
			added += run.Added
			if run.Added > 0 {
				cold++
			}
		}
		if cold == runsJudged {
			r.note(execCheck, "shadercache recording diff RECORDING START", "each of the last %d runs of %s made the driver add entries to its cache, %d in all: its texts or its state change from start to start",
				runsJudged, program, added)
		} else {
			r.good(execCheck, "the last %s of %s added %d entries to the driver's cache", cli.Plural(len(last), "run"), program, added)
		}
	}
}
