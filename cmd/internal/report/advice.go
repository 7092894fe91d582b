package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/shadercache/shadercache/cmd/cli"
)

// Cause is why a start was slower than it could be.
type Cause string

// The causes.
const (
	Changing    Cause = "source changes"      // compiled, though the directory has the program by its name
	Compiled    Cause = "compiled"            // it was not in the directory
	ColdDriver  Cause = "driver cache cold"   // the driver made the machine code of most programs again
	SlowLoads   Cause = "slow loads"          // that of some programs
	CauseLate   Cause = Cause(Late)           // preloaded too late
	CauseAsked  Cause = Cause(Asked)          // not preloaded
	CauseUnused Cause = "preloaded, not used" // preloaded for nothing
)

// Advice is one cause, and what to do about it.
type Advice struct {
	Cause    Cause   `json:"cause"`
	Title    string  `json:"title"`
	Text     string  `json:"text"`
	Command  string  `json:"command,omitempty"` // that shows more, or mends it
	Programs int     `json:"programs"`
	Millis   float64 `json:"ms"` // that it cost, of callers where they waited, else of the process
}

// Advise returns what would make the start faster, the largest gain first.
func (s *Start) Advise() []Advice {
	list := []Advice{}
	add := func(cause Cause, programs []Program, cost func(Program) float64, what, text, command string) {
		if len(programs) == 0 {
			return
		}
		title := cli.Plural(len(programs), "program") + " " + what
		a := Advice{Cause: cause, Title: title, Text: text, Command: command, Programs: len(programs)}
		for _, p := range programs {
			a.Millis += cost(p)
		}
		list = append(list, a)
	}
	waited := func(p Program) float64 { return p.WaitedMillis }
	changing, compiled := split(s.only(func(p Program) bool { return p.Origin == "compiled" }), func(p Program) bool { return p.Others > 0 })
	if len(changing) > 0 {
		add(Changing, changing, Program.MadeMillis, "with another source than before",
			fmt.Sprintf("The directory has %s by the same name, so it was compiled again. A time stamp, a path or a random name in the text makes another program of it at each start.",
				cli.Plural(slices.MaxFunc(changing, others).Others, "other program")),
			"shadercache why "+changing[0].Name)
	}
	add(Compiled, compiled, Program.MadeMillis, "compiled",
		"The directory did not have them. Where this was the first start with this driver, the next one finds them; shadercache preload puts them there before.", "")
	s.addMachineCode(add)
	late := s.only(func(p Program) bool { return p.Use == Late })
	add(CauseLate, late, waited, "preloaded too late",
		"Callers asked for them while the preload still made them. Preload earlier, or these first: the list at the end has the order in which they were needed.", "")
	// What was compiled, or whose machine code was made, has its own cause: without that the
	// wait would be short.
	asked := s.only(func(p Program) bool {
		return p.Use == Asked && p.Origin != "compiled" && p.LoadMillis <= slowLoad && p.WaitedMillis > 0 && p.Error == ""
	})
	add(CauseAsked, asked, waited, "never preloaded",
		"Callers waited until they were made. Preload them, in the order of the list at the end.", "")
	unused := s.only(func(p Program) bool { return p.Use == Unused })
	add(CauseUnused, unused, Program.MadeMillis, "preloaded and never used",
		"Leave them out of the preload: making them delayed others.", "")
	slices.SortStableFunc(list, func(a, b Advice) int { return cmp.Compare(b.Millis, a.Millis) })
	return list
}

// slowLoad is the time of a load in milliseconds above which the driver made machine code:
// loads whose machine code is there take 0.2 to 2 ms (docs/measurements.md).
const slowLoad = 20

// addMachineCode adds the loads that were slow. Where most were, the driver's own cache was
// cold; a few are slow on a busy machine too.
func (s *Start) addMachineCode(add func(Cause, []Program, func(Program) float64, string, string, string)) {
	loaded := s.only(func(p Program) bool { return p.Origin == "disk" })
	slow, _ := split(loaded, func(p Program) bool { return p.LoadMillis > slowLoad })
	took := func(p Program) float64 { return p.LoadMillis }
	if 2*len(slow) > len(loaded) {
		add(ColdDriver, slow, took, "loaded slowly: the driver's own cache was cold",
			fmt.Sprintf("Their binaries were found, and still took over %d ms to load. The driver's cache is empty, off, too small, or elsewhere than the programs.", slowLoad),
			"shadercache doctor")
		return
	}
	add(SlowLoads, slow, took, fmt.Sprintf("of %d from disk took over %d ms to load", len(loaded), slowLoad),
		"The driver may have made their machine code again, or the machine was busy: another start shows which.", "shadercache doctor")
}

// only returns the programs for which is holds.
func (s *Start) only(is func(Program) bool) []Program {
	selected, _ := split(s.Programs, is)
	return selected
}

func split(programs []Program, is func(Program) bool) (yes, no []Program) {
	for _, p := range programs {
		if is(p) {
			yes = append(yes, p)
		} else {
			no = append(no, p)
		}
	}
	return yes, no
}

// others compares programs by how many others have their name.
func others(a, b Program) int { return cmp.Compare(a.Others, b.Others) }
