// Package doctor finds what keeps a cache from working: its checks look at the
// directory and its volume, the upstream directory, the driver and its own cache, the
// remote, the programs on disk, and whether the cache hits.
package doctor

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/cli"
)

// Levels of a finding. A check has one level in a report: the worst.
const (
	LevelGood  = "good"
	LevelNote  = "note" // worth knowing
	LevelWrong = "wrong"
)

// Report is what all checks found.
type Report struct {
	Dir      string           `json:"dir"`      // the cache directory
	Good     bool             `json:"good"`     // nothing is wrong
	Devices  []cli.DeviceLine `json:"devices"`  // that were examined
	Findings []Finding        `json:"findings"` // all findings of a check about a device have one level

	about string // Finding.Device of what is added
}

// Finding is the result of one check.
type Finding struct {
	Device string `json:"device"`         // that it is about, of several; "" = the machine and the directory
	Check  string `json:"check"`          // what was examined, see doctor --help
	Level  string `json:"level"`          // good, note (worth knowing) or wrong
	Detail string `json:"detail"`         // what was found
	Fix    string `json:"mend,omitempty"` // the command that fixes it, or what to change in the application
}

// Examine runs all checks on the cache directory and the GPU that o chooses. It makes
// the directory where it is missing and changes nothing else, but for what it learns of a
// remote.
func Examine(o *cli.Options) *Report {
	// Opening a context changes the environment, so that is examined first.
	r := &Report{Good: true, Devices: []cli.DeviceLine{}, Findings: []Finding{}}
	environment := environmentFindings()
	dir := r.examineDirectory(o)
	r.examineUpstream()
	if dir == nil || r.examineOpening(dir) {
		r.examineDevices(o, environment)
	}
	if dir != nil {
		r.examineSlots(dir.DriverDir())
		r.examinePrograms(dir)
		if !r.examineModels(o, dir) {
			r.examineHits(dir)
		}
		r.examineRuns(dir)
	}
	return r
}

func (r *Report) good(check, format string, values ...any) {
	r.add(Finding{r.about, check, LevelGood, fmt.Sprintf(format, values...), ""})
}

// note adds what is worth knowing. fix is "" where there is nothing to do.
func (r *Report) note(check, fix, format string, values ...any) {
	r.add(Finding{r.about, check, LevelNote, fmt.Sprintf(format, values...), fix})
}

func (r *Report) wrong(check, fix, format string, values ...any) {
	r.Good = false
	r.add(Finding{r.about, check, LevelWrong, fmt.Sprintf(format, values...), fix})
}

// add adds a finding. A check about a device has one level, the worst: findings of it that
// are better are left out, and one that is there.
func (r *Report) add(f Finding) {
	rank := func(f Finding) int { return slices.Index([]string{LevelGood, LevelNote, LevelWrong}, f.Level) }
	same := func(g Finding) bool { return g.Check == f.Check && g.Device == f.Device }
	if slices.ContainsFunc(r.Findings, func(g Finding) bool { return g == f || same(g) && rank(g) > rank(f) }) {
		return
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(g Finding) bool { return same(g) && rank(g) < rank(f) })
	r.Findings = append(r.Findings, f)
}

const directoryCheck = "directory"

// examineDirectory returns the directory, or nil where it cannot be used.
func (r *Report) examineDirectory(o *cli.Options) *binary.Dir {
	l := o.Place().Find()
	path, err := o.Directory()
	if l.Private() {
		path, err = l.Dir.Path(), nil
	}
	if err != nil {
		r.wrong(directoryCheck, anyDirectory, "%v", err)
		return nil
	}
	r.Dir = path
	elsewhere := otherDirectory(path)
	dir, err := binary.OpenDir(path)
	if errors.Is(err, binary.ErrUnsafeDir) {
		r.wrong(directoryCheck, fixUnsafe(path, elsewhere), "%v", err)
		return nil
	}
	if err != nil {
		r.wrong(directoryCheck, elsewhere, "%v", err)
		return nil
	}
	if !r.examineVolume(unix.Statfs, path, elsewhere) {
		r.good(directoryCheck, "%s is safe and can be written", path)
	}
	if l.Private() {
		r.note(directoryCheck, "", "%s, a private place, is used: %v", path, l.Err)
	}
	return dir
}

func (r *Report) examineUpstream() {
	const check, unset = "upstream", "unset SHADERCACHE_UPSTREAM"
	p, _ := binary.Place{}.FromEnvironment()
	path := p.Upstream
	if path == "" {
		return
	}
	readable := "sudo chmod -R a+rX " + quoted(path)
	dir, err := binary.OpenUpstream(path)
	if errors.Is(err, fs.ErrPermission) {
		r.wrong(check, readable, "%v", err)
		return
	}
	if err != nil {
		r.wrong(check, unset, "%v", err)
		return
	}
	report, err := dir.Verify(false, nil)
	switch {
	case err != nil:
		r.wrong(check, unset, "%v", err)
	case report.Damaged > 0:
		r.wrong(check, readable, "%d of its programs cannot be read, the first: %s", report.Damaged, report.Problems[0].Reason)
	case report.Good == 0:
		r.wrong(check, unset, "%s holds no program", path)
	default:
		r.good(check, "%s is read where the directory has no program: %s", path, cli.Plural(report.Good, "program"))
	}
}

// examinePrograms reads every program on disk.
func (r *Report) examinePrograms(dir *binary.Dir) {
	const check, repair = "programs", "shadercache verify --repair"
	report, err := dir.Verify(false, nil)
	if err != nil {
		r.wrong(check, repair, "%v", err)
		return
	}
	if report.OK() {
		r.good(check, "%s (%s), none damaged, none in quarantine", cli.Plural(report.Good, "program"), cli.ReadableBytes(report.Bytes))
	}
	if report.Suspects > 0 {
		r.note(check, "", "%s: a process ended while the driver had them; the next start tries them in a process of their own",
			cli.Plural(report.Suspects, "suspect"))
	}
	r.examineWrong(dir)
	if report.Damaged > 0 {
		r.wrong(check, repair, "%d damaged: shadercache verify names them", report.Damaged)
	}
	if report.Quarantined > 0 {
		r.wrong(check, repair, "%s in quarantine: the driver crashed or hung, see shadercache stats", cli.Plural(report.Quarantined, "program"))
	}
}

// Print prints a line for each finding, and the command that fixes it. Several devices have a
// section each.
func (r *Report) Print(w io.Writer) {
	r.printFindings(w, "")
	if len(r.Devices) > 1 {
		r.printDevices(w)
	}
}

// printFindings prints the findings about a device; "" is the machine.
func (r *Report) printFindings(w io.Writer, device string) {
	for _, f := range r.Findings {
		if f.Device != device {
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Check, cli.EscapeName(f.Detail))
		if f.Fix != "" {
			fmt.Fprintf(w, "\t\t  fix: %s\n", cli.EscapeName(f.Fix))
		}
	}
}

// Verdict returns cli.ErrReported where something is wrong.
func (r *Report) Verdict() error {
	if r.Good {
		return nil
	}
	return cli.ErrReported
}
