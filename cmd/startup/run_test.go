package startup

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/cmd/clitest"
	_ "github.com/shadercache/shadercache/fleet/http"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

// TestMain runs the tests, or as a child of Run one scenario.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[2] == ChildCommand {
		os.Exit((&cli.Options{Stderr: os.Stderr}).Report(childMain(os.Args[3:])))
	}
	gltest.Main(m)
}

func childMain(args []string) error {
	o := cli.Options{Stderr: os.Stderr}
	var b ChildOptions
	flags := flag.NewFlagSet(ChildCommand, flag.ExitOnError)
	flags.StringVar(&o.Dir, "dir", "", "")
	flags.StringVar(&o.Device, "device", "", "")
	flags.Func("api", "", o.API.Set)
	flags.Func("driver-cache", "", o.DriverCache.Set)
	flags.Func("log-level", "", o.LogLevel.Set)
	flags.BoolVar(&o.JSON, "json", false, "")
	flags.IntVar(&b.Programs, "programs", 0, "")
	flags.BoolVar(&b.MemoryOnly, "memory-only", false, "")
	flags.BoolVar(&b.Preload, "preload", false, "")
	_ = flags.Parse(args)
	r, err := RunChild(&o, b)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

func options(t *testing.T) *cli.Options {
	o := clitest.Options(t)
	o.DriverCache = true
	return o
}

// Scenarios without program binaries compile everything, the others nothing, whether or
// not the programs are preloaded; the chart is written and nothing else is left.
func TestRun(t *testing.T) {
	for preload, scenarios := range map[bool][]string{false: {Both}, true: Scenarios} {
		work, pictures := t.TempDir(), filepath.Join(t.TempDir(), "new")
		r, err := Run(options(t), Options{Programs: 2, Repeat: 1, Scenarios: scenarios, Preload: preload,
			Chart: filepath.Join(pictures, "chart.svg"), WorkDir: work})
		if err != nil {
			t.Fatal(err)
		}
		clitest.Print(t, r, "startup2 on ", "one run of each", "every element of every result was verified")
		for name, f := range r.Scenarios {
			compiles := map[bool]uint64{true: 2}[compilesAll(name)]
			if f.Compiles != compiles || f.GetMillis <= 0 || f.TotalMillis < f.ToFirstResultMillis || f.ProcessMillis < f.TotalMillis {
				t.Errorf("%s: %+v", name, f)
			}
		}
		if len(r.Scenarios) != len(scenarios) || r.SpeedupVsCold <= 0 || r.GPU == "" {
			t.Errorf("%+v", r)
		}
		if left, err := os.ReadDir(work); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
		if data, err := os.ReadFile(filepath.Join(pictures, "chart.svg")); err != nil || !strings.Contains(string(data), "2 programs have run") {
			t.Errorf("the chart: %v", err)
		}
	}
}

func TestValidate(t *testing.T) {
	for want, o := range map[string]Options{
		"--programs":         {Repeat: 1},
		"should end in .svg": {Programs: 1, Repeat: 1, Chart: "a.png"},
		"are for --remote":   {Programs: 1, Repeat: 1, FleetOptions: FleetOptions{Latency: 1}},
		"for http:, oci:":    {Programs: 1, Repeat: 1, FleetOptions: FleetOptions{Remote: "file:///x", Latency: 1}},
		`no scenario "x"`:    {Programs: 1, Repeat: 1, Scenarios: []string{"x"}},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not contain %q", err, want)
		}
	}
}

// A program that writes nothing is found, although the one before it left the same product:
// the output is overwritten before each.
func TestProgramsThatWriteNothingAreFound(t *testing.T) {
	gltest.Open(t)
	for _, call := range []int{0, 1, 2} { // 0: the driver is right
		child := exec.Command(os.Args[0], "bench", ChildCommand, "--programs", "2", "--memory-only", "--dir", t.TempDir())
		child.Env = os.Environ()
		if call > 0 {
			child.Env = append(child.Env, faultgl.Environment(t, faultgl.Fault{Mode: faultgl.Wrong, At: "glDispatchCompute", Call: call})...)
		}
		out, err := child.CombinedOutput()
		if err != nil || !strings.Contains(string(out), fmt.Sprintf(`"verified":%t`, call == 0)) {
			t.Errorf("dispatch %d computes nothing: %v\n%s", call, err, out)
		}
	}
}

// Starts from a remote compile nothing, over a slow link too; one that cannot wait for it
// compiles, and the next one is warm. On a busy machine opening the GPU may take longer than
// the slow link: then that start is one that compiles nothing.
func TestRunWithARemote(t *testing.T) {
	for _, c := range []struct {
		fleet   FleetOptions
		outcome string
	}{
		{FleetOptions{Remote: Loopback, Latency: 5 * time.Millisecond, Bandwidth: 1e9, Budget: time.Minute}, "pulled"},
		{FleetOptions{Remote: Loopback, Latency: 300 * time.Millisecond, Budget: time.Millisecond}, "late"},
	} {
		r, err := Run(options(t), Options{Programs: 2, Repeat: 1, Scenarios: FleetScenarios, FleetOptions: c.fleet, WorkDir: filepath.Join(t.TempDir(), "made")})
		if err != nil {
			t.Fatal(err)
		}
		first, next := r.Scenarios[Remote], r.Scenarios[RemoteNext]
		if c.outcome == "late" && first.Outcome == "pulled" {
			t.Log("the link was faster than the GPU's driver")
			c.outcome = "pulled"
		}
		clitest.Print(t, r, "remote: loopback, ", "remote: "+c.outcome, "every element of every result was verified")
		if first.Outcome != c.outcome || c.outcome == "pulled" && first.Compiles != 0 || next.Compiles != 0 || r.Fleet.PushedBytes == 0 || r.Fleet.RatioToWarm <= 0 {
			t.Errorf("%s: %+v, then %+v, %+v", c.outcome, first, next, r.Fleet)
		}
	}
}
