// Package clitest has what the tests of the commands share: scripts with their commands and
// conditions, processes of the command that is tested, and checks of its help and its schema.
package clitest

import (
	"errors"
	"flag"
	"image"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/shadercache/shadercache/conv2d/imaging"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
)

var update = flag.Bool("update", false, "rewrite golden parts of scripts and testdata/results.schema.json")

// Main runs the tests of a command, or, as a process that they start, one of the commands, by
// its name.
func Main(m *testing.M, commands map[string]func()) { testscript.Main(neutral{m}, commands) }

// neutral runs the tests, but not the commands that they start, in an environment
// without the user's caches.
type neutral struct{ *testing.M }

func (m neutral) Run() int {
	gltest.IsolateEnvironment()
	return m.M.Run()
}

// ScriptsOnGPU returns the parameters of a run of the scripts in a folder that start processes
// with OpenGL. Without a driver it skips the test.
func ScriptsOnGPU(t *testing.T, dir string) testscript.Params {
	t.Setenv("TMPDIR", t.TempDir())
	info := gltest.Open(t).Info()
	p := Scripts(dir, info.Fingerprint.DirName(), info.Fingerprint.Label(), info.Fingerprint.Digest().Short())
	p.Condition = func(name string) (bool, error) {
		if version, found := strings.CutPrefix(name, "mesa"); found { // "mesa", or "mesa22" for one major version
			return strings.Contains(info.Driver, strings.TrimSpace("Mesa "+version)), nil
		}
		if name == "root" { // may write anywhere but on a read-only volume
			return os.Geteuid() == 0, nil
		}
		return false, errors.New("unknown condition")
	}
	return p
}

// ScriptsOnTwoDrivers returns the parameters of a run of the scripts in a folder whose processes
// see a second GPU, of another driver, that compiles no program whose text has "not on the
// second". With $BROKEN for its faults it has no context, with $LOST it loses it.
func ScriptsOnTwoDrivers(t *testing.T, dir string) testscript.Params {
	faultgl.Library(t) // compiled once, for the tests behind this one too, whose TMPDIR is another
	t.Setenv("TMPDIR", t.TempDir())
	gltest.Open(t)
	p := Scripts(dir)
	twin := faultgl.Fault{Mode: faultgl.Twin, At: "eglQueryDevicesEXT"}
	broken := faultgl.Fault{Mode: faultgl.Refuse, At: "glGetString", OnTwin: true}
	lost := faultgl.Fault{Mode: faultgl.Lost, At: "glDispatchCompute", OnTwin: true}
	setup, environment := p.Setup, faultgl.Environment(t, twin,
		faultgl.Fault{Mode: faultgl.Refuse, At: "glCompileShader", OnTwin: true, Source: "not on the second"})
	p.Setup = func(e *testscript.Env) error {
		for _, setting := range environment {
			name, value, _ := strings.Cut(setting, "=")
			e.Setenv(name, value)
		}
		e.Setenv("BROKEN", twin.String()+"\n"+broken.String())
		e.Setenv("LOST", twin.String()+"\n"+lost.String())
		return setup(e)
	}
	return p
}

// BuildShadercache builds shadercache and puts it in the PATH, for the tests of another command.
func BuildShadercache(t *testing.T) {
	t.Helper()
	bin := t.TempDir()
	build := exec.Command("go", "build", "-tags", "egl", "-ldflags=-w", "-o", bin, modulePath+"cmd/shadercache")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// Scripts returns the parameters of a run of the scripts in a folder that need no OpenGL. The
// masked command replaces the texts in driver by DRIVER.
func Scripts(dir string, driver ...string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("SHADERCACHE_DIR", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("OTHER_DEVICE", gltest.Devices(2)[1])
			for _, name := range []string{"LD_LIBRARY_PATH", "__EGL_VENDOR_LIBRARY_FILENAMES", "EGL_PLATFORM", "GORACE",
				"LIBGL_ALWAYS_SOFTWARE", "GALLIUM_DRIVER", "MESA_LOADER_DRIVER_OVERRIDE"} {
				if value, set := os.LookupEnv(name); set && e.Getenv(name) == "" {
					e.Setenv(name, value)
				}
			}
			return imaging.WritePNG(filepath.Join(e.WorkDir, "small.png"), SmallPicture())
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"json":   scriptJSON,
			"fails":  scriptFails,
			"damage": scriptDamage,
			"masked": func(ts *testscript.TestScript, neg bool, args []string) {
				scriptMasked(ts, driver)
			},
		},
	}
}

// SmallPicture takes less time than the sample picture.
func SmallPicture() image.Image {
	picture := image.NewNRGBA(image.Rect(0, 0, 40, 30))
	for i := range picture.Pix {
		picture.Pix[i] = byte(i * i / 7)
	}
	return picture
}

// scriptFails runs a command that must end with an exit code:
// "fails CODE PROGRAM ARGUMENTS...".
func scriptFails(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: fails CODE PROGRAM ARGUMENTS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		ts.Fatalf("%v, not exit code %s", err, args[0])
	}
	if got := strconv.Itoa(exit.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, not %s", got, args[0])
	}
}

// scriptDamage flips a byte in the middle of every program binary below a
// folder: "damage FOLDER".
func scriptDamage(ts *testscript.TestScript, neg bool, args []string) {
	files, err := filepath.Glob(filepath.Join(ts.MkAbs(args[0]), "*", "blobs", "*", "*.bin"))
	ts.Check(err)
	if len(files) == 0 {
		ts.Fatalf("%s holds no program binaries", args[0])
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		ts.Check(err)
		data[len(data)/2] ^= 0x10
		ts.Check(os.WriteFile(file, data, 0o600))
	}
}

var (
	keys    = regexp.MustCompile(`\b[0-9a-f]{12,64}\b`)
	numbers = regexp.MustCompile(`\b\d+(\.\d+)?\b`)
	spaces  = regexp.MustCompile(` +`)
)

// scriptMasked writes the last standard output to the file "masked", with
// everything that differs from run to run replaced.
func scriptMasked(ts *testscript.TestScript, driver []string) {
	text := strings.ReplaceAll(ts.ReadFile("stdout"), ts.Getenv("WORK"), "WORK")
	for _, name := range driver {
		text = strings.ReplaceAll(text, name, "DRIVER")
	}
	text = keys.ReplaceAllString(text, "KEY")
	text = numbers.ReplaceAllString(text, "N")
	text = regexp.MustCompile(`N [KM]iB|N B`).ReplaceAllString(text, "SIZE")
	text = regexp.MustCompile(`N m?s\b`).ReplaceAllString(text, "TIME") // a busy machine takes seconds
	text = spaces.ReplaceAllString(text, " ")
	text = regexp.MustCompile(`TIME (TIME|-) (N|-) just now`).ReplaceAllString(text, "TIME - - just now") // software has no GPU's time
	text = regexp.MustCompile(`(?m)^the GPU has .*\n`).ReplaceAllString(text, "")                         // where the driver says
	ts.Check(os.WriteFile(ts.MkAbs("masked"), []byte(text), 0o600))
}
