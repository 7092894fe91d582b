//go:build linux

package recorder_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/shadercache/shadercache/internal/recordtest"
	"github.com/shadercache/shadercache/recording/recorder"
)

// The numbers of stages in GL.
const (
	vertex   = 0x8B31
	fragment = 0x8B30
	compute  = 0x91B9
)

// shader returns the source that testdata/gl.h makes for a name, and its stage.
func shader(name string) recordtest.Stage {
	version, n := "430", name[1:]
	if name[0] == 'e' || name[0] == 'g' {
		version = "310 es"
	}
	switch name[0] {
	case 'v', 'e':
		return recordtest.Stage{Stage: vertex, Text: "#version " + version + "\nin vec4 a;\nin vec4 b;\nout vec4 c;\nvoid main() { c = b; gl_Position = a * " + n + ".0; }\n"}
	case 'f', 'g':
		return recordtest.Stage{Stage: fragment, Text: "#version " + version + "\nprecision highp float;\nin vec4 c;\nout vec4 d;\nvoid main() { d = c * " + n + ".0; }\n"}
	}
	return recordtest.Stage{Stage: compute, Text: "#version " + version + "\nlayout(local_size_x = 1) in;\nlayout(std430, binding = 0) buffer B { float v[]; };\nvoid main() { v[0] = " + n + ".0; }\n"}
}

// core is the context of the programs: OpenGL 4.5, core profile.
var core = [5]uint32{1, 4, 5, 1, 0}

// of returns a program of shaders.
func of(shaders string, change ...func(*recordtest.Program)) recordtest.Program {
	p := recordtest.Program{Context: core}
	for name := range strings.FieldsSeq(shaders) {
		p.Stages = append(p.Stages, shader(name))
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func describe(p recordtest.Program) string { return fmt.Sprintf("%+v", p) }

// events are the lines of a process without times and digests: "link" and the number of the
// program in want.
func events(t *testing.T, r recordtest.Recording, p recordtest.Process, want []recordtest.Program) string {
	t.Helper()
	var events []string
	for _, line := range p.Lines {
		if line.Kind == "context" {
			continue
		}
		event := line.Kind
		if program, known := r.Programs[line.Fields[0]]; known {
			i := slices.IndexFunc(want, func(w recordtest.Program) bool { return describe(w) == describe(program) })
			if i < 0 {
				t.Errorf("unexpected program %s", describe(program))
			}
			event += fmt.Sprint(i)
		} else if line.Kind == "lost" {
			event += ":" + line.Fields[0]
		}
		events = append(events, event)
	}
	return strings.Join(events, " ")
}

// recorded is what a case of testdata/cases.c has to leave.
type recorded struct {
	programs []recordtest.Program
	events   []string // of each process
}

func separable(p *recordtest.Program) { p.Separable = true }

var cases = map[string]recorded{
	"simple": {[]recordtest.Program{of("v1 f1"), of("c1")}, []string{"link0 use0 link1"}},
	"texts":  {[]recordtest.Program{of("c2")}, []string{"link0"}},
	"bindings": {[]recordtest.Program{of("v2 f2", func(p *recordtest.Program) {
		p.Attributes = []string{"a=5", "b=3"}
		p.Outputs = []string{"d=1,0", "other=0,1"}
		p.Feedback = "0x8c8c c gl_Position"
		p.Retrievable = true
	})}, []string{"link0"}},
	"again": {[]recordtest.Program{of("f3 v3"), of("v3 f4")}, []string{"link0 use0 link1 use1 link1 link1"}},
	"separable": {[]recordtest.Program{
		of("f5", separable, func(p *recordtest.Program) { p.Created = true }), of("v5", separable),
	}, []string{"link0 link1 use1 use0"}},
	"failed": {[]recordtest.Program{of("v6"), of("v6", func(p *recordtest.Program) {
		p.Stages = append(p.Stages, recordtest.Stage{Stage: fragment, Text: "#version 430\nin vec4 nothing;\nout vec4 d;\nvoid main() { d = nothing; }\n"})
	})}, []string{"link0 link1 failed1 lost:a program has no shaders"}},
	"binary": {[]recordtest.Program{of("c7"), of("c18")}, []string{"link0 link1 use0 binary"}},
	"silent": {[]recordtest.Program{of("v8 f8")}, []string{"lost:a program is not known link0 use0"}},
	"shared": {[]recordtest.Program{of("c9"), of("c9 f9"), of("v9 f9"), of("v10 f10")}, []string{"link0 use0 link1 link2 link3"}},
	"embedded": {[]recordtest.Program{of("e11 g11", func(p *recordtest.Program) {
		p.Context = [5]uint32{2, 3, 2, 0, 0}
	})}, []string{"link0 use0"}},
	"forks": {[]recordtest.Program{of("c12"), of("c13"), of("c14"), of("v1 f1"), of("c1")},
		[]string{"link0 link2", "link1", "link3 use3 link4"}},
	"spirv": {[]recordtest.Program{spirv(1, 9), spirv()}, []string{"link0 link1"}},
}

// spirv returns the program of a module with constants.
func spirv(constants ...uint32) recordtest.Program {
	module, err := os.ReadFile("testdata/constant.spv")
	if err != nil {
		panic(err)
	}
	return recordtest.Program{Context: core, Stages: []recordtest.Stage{
		{Stage: compute, SPIRV: true, Entry: "main", Constants: constants, Text: string(module)},
	}}
}

// check compares a recording with what a case has to leave.
func check(t *testing.T, folder string, want recorded) {
	t.Helper()
	r := read(t, folder)
	if len(r.Programs) != len(want.programs) || len(r.Processes) != len(want.events) {
		t.Fatalf("%d programs of %d processes are recorded, want %d of %d", len(r.Programs), len(r.Processes), len(want.programs), len(want.events))
	}
	for i, p := range r.Processes {
		if got := events(t, r, p, want.programs); got != want.events[i] {
			t.Errorf("process %d: %s, want %s", i, got, want.events[i])
		}
		if len(p.Of("context")) != 1 && len(r.Programs) > 0 {
			t.Errorf("process %d has contexts %q", i, p.Of("context"))
		}
	}
}

// A program gets at functions of GL in several ways. What is recorded is the same.
func TestEveryLinkedProgramIsRecorded(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"link", "local", "global", "self", "proc"} {
		program := plain.program(t, "cases.c")
		if how == "link" {
			program = plain.program(t, "cases.c", "-DLINKED", "-lEGL", "-lGL")
		}
		for name, want := range cases {
			if how != "link" && how != "local" && name != "simple" && name != "forks" {
				continue // how the functions were found makes no difference to the rest
			}
			t.Run(how+"/"+name, func(t *testing.T) {
				t.Parallel()
				folder := t.TempDir()
				cmd := plain.command(t, folder, program, how, name)
				cmd.Env = append(cmd.Env, "LINKED=1")
				run(t, cmd)
				check(t, folder, want)
			})
		}
	}
}

// Without a driver in the process, dlsym finds no function of GL: testdata/gl.h ends the
// program where it does.
func TestSymbolsAreThoseOfTheDriver(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	run(t, plain.command(t, folder, plain.program(t, "cases.c"), "global", "simple"))
	check(t, folder, cases["simple"])
}

// What a program sees of its driver, of errno, of descriptors and of dlerror is the same with
// the recorder and without.
func TestTheProgramSeesNothing(t *testing.T) {
	t.Parallel()
	for _, b := range []build{plain, address} {
		var printed []string
		for _, folder := range []string{"", t.TempDir()} {
			cmd := b.command(t, folder, b.program(t, "cases.c"), "local", "silent")
			if folder == "" {
				cmd.Env = append(cmd.Env, "LD_PRELOAD=")
			}
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			printed = append(printed, string(out))
		}
		if printed[0] != printed[1] || !strings.Contains(printed[0], "gl 501") {
			t.Errorf("%s: with the recorder:\n%swithout:\n%s", b.name, printed[1], printed[0])
		}
	}
}

// A process that ends at once has recorded what it linked before.
func TestCrashesLoseNothing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		signal  syscall.Signal
		program string
	}{"crash": {syscall.SIGSEGV, "c15"}, "killed": {syscall.SIGKILL, "c16"}} {
		folder := t.TempDir()
		cmd := plain.command(t, folder, plain.program(t, "cases.c"), "local", name)
		err := cmd.Run()
		exit, ok := errors.AsType[*exec.ExitError](err)
		if !ok || exit.Sys().(syscall.WaitStatus).Signal() != want.signal {
			t.Errorf("%s: %v, want %v", name, err, want.signal)
		}
		check(t, folder, recorded{[]recordtest.Program{of(want.program)}, []string{"link0 use0"}})
	}
}

// A folder that cannot be written to, a limit on files, and a full volume cost the recording
// and nothing else.
func TestNothingCanBeWritten(t *testing.T) {
	t.Parallel()
	program := plain.program(t, "cases.c")
	limited := t.TempDir()
	run(t, plain.command(t, limited, program, "local", "limited"))
	if r := read(t, limited); len(r.Programs) != 0 || len(r.Processes) != 1 {
		t.Errorf("%d programs of %d processes with a limit of 100 bytes", len(r.Programs), len(r.Processes))
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{file, "/proc/none", "relative", strings.Repeat("/long", 1000)} {
		if out := run(t, plain.command(t, folder, program, "local", "simple")); out != "" {
			t.Errorf("%s: the program printed %q", folder, out)
		}
	}
}

func TestAVolumeIsFull(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size=32k,mode=700"); err != nil {
		t.Skip("no volume can be mounted: ", err)
	}
	defer syscall.Unmount(folder, syscall.MNT_DETACH)
	fill := filepath.Join(folder, "fill")
	if err := os.WriteFile(fill, make([]byte, 24<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	run(t, plain.command(t, folder, plain.program(t, "cases.c"), "local", "again"))
	r := read(t, folder)
	if len(r.Processes) != 1 || len(r.Processes[0].Of("lost")) == 0 {
		t.Errorf("%+v", r)
	}
}

// A process records also where one of its number and its programs was killed in a write, as in
// containers, whose processes have one number each.
func TestWhatAKilledProcessLeftIsInNobodysWay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	again := func() {
		cmd := plain.command(t, folder, plain.program(t, "cases.c"), "local", "simple")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID} // it is process 1
		if err := cmd.Run(); errors.Is(err, syscall.EPERM) {
			t.Skip("no namespace can be made: ", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	again()
	var left []string
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "v1", "programs", "*", "*.bin"))
	must(err)
	for _, file := range files {
		for number := range 4 {
			left = append(left, filepath.Join(folder, "v1", "tmp", fmt.Sprintf("%.16s-1-%d", filepath.Base(file), number)))
		}
	}
	must(os.RemoveAll(filepath.Join(folder, "v1", "programs")))
	must(os.RemoveAll(filepath.Join(folder, "v1", "processes")))
	must(os.Mkdir(filepath.Join(folder, "v1", "processes"), 0o700))
	for _, path := range left {
		must(os.WriteFile(path, []byte("a part"), 0o600))
	}
	again()
	for _, path := range left {
		must(os.Remove(path))
	}
	check(t, folder, cases["simple"])
}

func TestProcessesRecordToOneFolder(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	program := plain.program(t, "cases.c")
	var group sync.WaitGroup
	for range 4 {
		cmd := plain.command(t, folder, program, "local", "simple")
		group.Go(func() { run(t, cmd) })
	}
	group.Wait()
	one := cases["simple"]
	check(t, folder, recorded{one.programs, slices.Repeat(one.events, 4)})
}

// Two hundred threads link, a thousand with SHADERCACHE_SOAK=1, with contexts that share
// their objects and others, and neither sanitizer has anything to say of the recorder.
func TestManyThreads(t *testing.T) {
	t.Parallel()
	threads := 120
	if os.Getenv("SHADERCACHE_SOAK") != "" {
		threads = 1000
	}
	for _, b := range []build{address, thread} {
		folder := t.TempDir()
		cmd := b.command(t, folder, b.program(t, "cases.c"), "local", "many")
		cmd.Env = append(cmd.Env, "MESA_SHADER_CACHE_DISABLE=false", "MESA_SHADER_CACHE_DIR="+t.TempDir(), "THREADS="+strconv.Itoa(threads))
		if out := run(t, cmd); isOurs(out) {
			t.Errorf("%s: %s", b.name, out)
		}
		r := read(t, folder)
		if len(r.Programs) != 100 || len(r.Processes) != 1 {
			t.Fatalf("%s: %d programs of %d processes", b.name, len(r.Programs), len(r.Processes))
		}
		p := r.Processes[0]
		if len(p.Of("link")) != threads || len(p.Of("use")) != 100 || len(p.Of("lost")) != 0 {
			t.Errorf("%s: %d links, %d uses, lost %q", b.name, len(p.Of("link")), len(p.Of("use")), p.Of("lost"))
		}
	}
}

// All cases leave no leak and no error of memory.
func TestCasesWithTheAddressSanitizer(t *testing.T) {
	t.Parallel()
	args := []string{address.program(t, "cases.c"), "local"}
	for name := range cases {
		if name != "forks" { // it is executed again, which the sanitizer's runtime refuses
			args = append(args, name)
		}
	}
	if out := run(t, address.command(t, t.TempDir(), args...)); isOurs(out) {
		t.Error(out)
	}
}

// isOurs reports whether a sanitizer has something to say of the recorder: drivers have leaks.
func isOurs(out string) bool {
	return strings.Contains(out, recorder.LibraryName) || strings.Contains(out, ".c:") || strings.Contains(out, "WARNING")
}
