package main

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
)

var update = flag.Bool("update", false, "rewrite golden parts of scripts and docs/command.md")

func TestMain(m *testing.M) {
	testscript.Main(neutral{m}, map[string]func(){"shadercache": main, stuckName: stuckMain, streamName: streamMain})
}

// neutral runs the tests, but not the commands that they start, in an environment
// without the user's caches.
type neutral struct{ *testing.M }

func (m neutral) Run() int {
	gltest.IsolateEnvironment()
	return m.M.Run()
}

// TestCommand runs the scripts that need no OpenGL.
func TestCommand(t *testing.T) {
	testscript.Run(t, scripts("testdata/script", nil))
}

// TestCommandOnGPU runs the scripts that start processes with OpenGL.
func TestCommandOnGPU(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	info := gltest.Open(t).Info()
	label := info.Fingerprint.Label()
	p := scripts("testdata/script/gpu", []string{info.Fingerprint.DirName(), label, info.Fingerprint.Digest().Short()})
	p.Condition = func(name string) (bool, error) {
		if version, found := strings.CutPrefix(name, "mesa"); found { // "mesa", or "mesa22" for one major version
			return strings.Contains(info.Driver, strings.TrimSpace("Mesa "+version)), nil
		}
		if name == "root" { // may write anywhere but on a read-only volume
			return os.Geteuid() == 0, nil
		}
		return false, errors.New("unknown condition")
	}
	testscript.Run(t, p)
}

// scripts returns the parameters of a script run. The masked command replaces the texts
// in driver by DRIVER.
func scripts(dir string, driver []string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("SHADERCACHE_DIR", filepath.Join(e.WorkDir, "cache"))
			e.Setenv("OTHER_DEVICE", gltest.Devices(2)[1])
			for _, name := range []string{"LD_LIBRARY_PATH", "__EGL_VENDOR_LIBRARY_FILENAMES", "EGL_PLATFORM", "GORACE"} {
				if value, set := os.LookupEnv(name); set && e.Getenv(name) == "" {
					e.Setenv(name, value)
				}
			}
			return imaging.WritePNG(filepath.Join(e.WorkDir, "small.png"), smallPicture())
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

// smallPicture takes less time than the sample picture.
func smallPicture() image.Image {
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
