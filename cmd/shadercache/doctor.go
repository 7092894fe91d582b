package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/internal/cli"
)

const doctorUsage = `Look for everything that is known to keep a cache from working, and name the one
command that mends it.

  directory     none, unsafe, on a network, read-only, nearly full
  upstream      $SHADERCACHE_UPSTREAM cannot be used or read, or is empty
  driver        none, or it offers no program binary formats
  driver_cache  off, too small, elsewhere by the environment, or a driver was
                loaded before its settings could be made, or slots of NVIDIA's
                driver that cannot be merged
  programs      damaged, or in quarantine because a process died of them
  hits          programs are kept, yet compiled again and again

It changes nothing, apart from making the cache directory where it is missing.

JSON fields: dir, good, findings [{check, level, detail, mend?}]. level is good,
note (worth knowing) or wrong.

The exit code is 1 when something is wrong.`

const doctorExample = `  shadercache doctor --json | jq -r '.findings[] | select(.level == "wrong").mend'`

// Levels of a finding.
const (
	levelGood  = "good"
	levelNote  = "note"
	levelWrong = "wrong"
)

// doctorResult is what doctor prints.
type doctorResult struct {
	Dir      string    `json:"dir"`
	Good     bool      `json:"good"`
	Findings []finding `json:"findings"`
}

// finding is one thing that was looked at.
type finding struct {
	Check  string `json:"check"`
	Level  string `json:"level"`
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"` // a command
}

func newDoctor(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "doctor",
		Short:   "Find what keeps the cache from working",
		Long:    doctorUsage,
		Example: doctorExample,
		Args:    cli.UsageArgs(cli.NoArguments),
		RunE: func(*cobra.Command, []string) error {
			r := o.doctor()
			if err := o.Result(r, r.Print); err != nil || r.Good {
				return err
			}
			return cli.ErrReported
		},
	}
}

func (o *options) doctor() *doctorResult {
	// Opening a context changes the environment, so that is looked at first.
	r := &doctorResult{Good: true, Findings: []finding{}}
	environment := driverCacheEnvironment()
	dir := r.examineDirectory(o)
	r.examineUpstream()
	r.examineDriver(o, environment)
	if dir != nil {
		r.examineSlots(dir.DriverDir())
		r.examinePrograms(dir)
		r.examineHits(dir)
	}
	return r
}

func (r *doctorResult) good(check, format string, values ...any) {
	r.Findings = append(r.Findings, finding{check, levelGood, fmt.Sprintf(format, values...), ""})
}

func (r *doctorResult) note(check, mend, format string, values ...any) {
	r.Findings = append(r.Findings, finding{check, levelNote, fmt.Sprintf(format, values...), mend})
}

func (r *doctorResult) wrong(check, mend, format string, values ...any) {
	r.Good = false
	r.Findings = append(r.Findings, finding{check, levelWrong, fmt.Sprintf(format, values...), mend})
}

// examineDirectory returns the directory, or nil where it cannot be used.
func (r *doctorResult) examineDirectory(o *options) *binary.Dir {
	const check = "directory"
	path, err := o.Directory()
	if err != nil {
		r.wrong(check, anywhere, "%v", err)
		return nil
	}
	r.Dir = path
	elsewhere := mendElsewhere(path)
	dir, err := binary.OpenDir(path)
	if errors.Is(err, binary.ErrUnsafeDir) {
		r.wrong(check, mendUnsafe(path, elsewhere), "%v", err)
		return nil
	}
	if err != nil {
		r.wrong(check, elsewhere, "%v", err)
		return nil
	}
	if !r.examineVolume(unix.Statfs, path, elsewhere) {
		r.good(check, "%s is safe and can be written", path)
	}
	return dir
}

func (r *doctorResult) examineUpstream() {
	path := binary.DefaultUpstream()
	if path == "" {
		return
	}
	dir, err := binary.OpenUpstream(path)
	if errors.Is(err, fs.ErrPermission) {
		r.wrong("upstream", "sudo chmod -R a+rX "+quoted(path), "%v", err)
		return
	}
	if err != nil {
		r.wrong("upstream", "unset SHADERCACHE_UPSTREAM", "%v", err)
		return
	}
	report, err := dir.Verify(false, nil)
	switch {
	case err != nil:
		r.wrong("upstream", "unset SHADERCACHE_UPSTREAM", "%v", err)
	case report.Damaged > 0:
		r.wrong("upstream", "sudo chmod -R a+rX "+quoted(path), "%d of its programs cannot be read, the first: %s",
			report.Damaged, report.Problems[0].Reason)
	case report.Good == 0:
		r.wrong("upstream", "unset SHADERCACHE_UPSTREAM", "%s holds no program", path)
	default:
		r.good("upstream", "%s is read where the directory has no program: %s", path, cli.Plural(report.Good, "program"))
	}
}

func (r *doctorResult) examineDriver(o *options, environment []finding) {
	context, err := glctx.Open(o.ContextOptions())
	if err != nil {
		r.wrong("driver", mendDriver(err), "%v", err)
		return
	}
	defer context.Close()
	info := context.Info()
	if len(info.Fingerprint.Formats) == 0 {
		r.wrong("driver", mendFormats(environment), "%s, %s offers no program binary formats: nothing can be kept", info.GPU, info.Driver)
	} else {
		r.good("driver", "%s, %s, with %s", info.GPU, info.Driver, cli.Plural(len(info.Fingerprint.Formats), "program binary format"))
	}
	for _, f := range environment {
		r.wrong(f.Check, f.Mend, "%s", f.Detail)
	}
	r.examineDriverCache(context.DriverCache(), bool(o.DriverCache), len(environment) > 0)
}

// examinePrograms reads everything on disk.
func (r *doctorResult) examinePrograms(dir *binary.Dir) {
	const check, mend = "programs", "shadercache verify --repair"
	report, err := dir.Verify(false, nil)
	if err != nil {
		r.wrong(check, mend, "%v", err)
		return
	}
	if report.OK() {
		r.good(check, "%s (%s), none damaged, none in quarantine", cli.Plural(report.Good, "program"), cli.ReadableBytes(report.Bytes))
	}
	if report.Damaged > 0 {
		r.wrong(check, mend, "%d damaged: shadercache verify names them", report.Damaged)
	}
	if report.Quarantined > 0 {
		r.wrong(check, mend, "%s in quarantine because a process died of it: see shadercache stats", cli.Plural(report.Quarantined, "program"))
	}
}

// examineHits looks for the classic failure of a cache: everything is stored
// and nothing is ever found.
func (r *doctorResult) examineHits(dir *binary.Dir) {
	const check = "hits"
	lifetime, err := dir.Lifetime()
	infos, infosErr := dir.Fingerprints()
	if err := errors.Join(err, infosErr); err != nil {
		r.wrong(check, "shadercache verify --repair", "%v", err)
		return
	}
	programs := 0
	for _, info := range infos {
		programs += info.Programs
	}
	switch {
	case programs > 0 && lifetime.DiskHits == 0 && lifetime.Compiles > uint64(programs):
		r.wrong(check, "shadercache selftest", "%d compiled for %s on disk, and none was ever found there",
			lifetime.Compiles, cli.Plural(programs, "program"))
	case lifetime.Rejected > lifetime.DiskHits:
		r.wrong(check, "shadercache selftest", "the driver refused %s and took %d", cli.Plural(lifetime.Rejected, "binary file"), lifetime.DiskHits)
	case lifetime.DiskHits == 0:
		r.note(check, "shadercache selftest", "nothing was found on disk so far, %d compiled", lifetime.Compiles)
	default:
		r.good(check, "%d found on disk, %d compiled", lifetime.DiskHits, lifetime.Compiles)
	}
}

func (r *doctorResult) Print(w io.Writer) {
	for _, f := range r.Findings {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, f.Check, f.Detail)
		if f.Mend != "" {
			fmt.Fprintf(w, "\t\t  mend: %s\n", f.Mend)
		}
	}
}
