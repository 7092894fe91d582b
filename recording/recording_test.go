package recording

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/shader"
)

// everything is a program with a field of each kind.
func everything() *Program {
	return &Program{
		Context:   Context{OpenGL, 4, 6, ProfileCore, FlagDebug},
		Separable: true,
		Stages: []Stage{
			{Kind: Vertex, Text: "#version 330\nvoid main() { gl_Position = vec4(0); } // \xff\x00"},
			{Kind: Fragment, Module: &Module{Code: spirvModule(), EntryPoint: "main", Constants: []Constant{{3, 7}, {4, 0}}}},
		},
		Attributes:  []Attribute{{2, "colour"}, {0, "position"}},
		Outputs:     []Output{{0, 1, "second"}},
		Feedback:    &Feedback{Mode: 0x8C8C, Varyings: []string{"a", "b[1]"}},
		Retrievable: true,
	}
}

// spirvModule returns a header of SPIR-V without instructions.
func spirvModule() []byte { return words(spirvMagic, 0x10000, 0, 1, 0) }

func compute(n int) *Program {
	return &Program{
		Context: Context{OpenGL, 4, 5, ProfileCore, 0},
		Stages:  []Stage{{Kind: Compute, Text: fmt.Sprintf("#version 430\n// %d\n", n)}},
	}
}

func TestProgramsComeBackAsTheyWere(t *testing.T) {
	created := compute(1)
	created.Created, created.Separable = true, true
	for _, p := range []*Program{everything(), compute(0), created} {
		got, err := decodeProgram(p.Encode())
		if err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v, %v; want %+v", got, err, p)
		}
	}
}

// The format is fixed: recorders that were built earlier write it.
func TestTheFormat(t *testing.T) {
	p := compute(0)
	p.Attributes = []Attribute{{3, "pos"}}
	want := magic + "\x01\x00\x00\x00\x14\x00\x00\x00" + "\x01\x00\x00\x00\x04\x00\x00\x00\x05\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00" +
		"\x04\x00\x00\x00\x1a\x00\x00\x00" + "\xb9\x91\x00\x00\x01\x00\x00\x00#version 430\n// 0\n" +
		"\x05\x00\x00\x00\x07\x00\x00\x00" + "\x03\x00\x00\x00pos"
	if got := string(p.Encode()); got != want {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestDecodeRefusesWhatNoRecorderWrites(t *testing.T) {
	field := func(tag uint32, content ...uint32) string {
		return string(words(tag, uint32(4*len(content)))) + string(words(content...))
	}
	begin := magic + field(tagContext, 1, 4, 5, 1, 0)
	stage := field(tagStage, uint32(Compute), formGLSL, 0x20202020)
	for name, test := range map[string]struct{ content, reason string }{
		"empty":                 {"", "begin"},
		"another file":          {"\x7fELF", "begin"},
		"no context":            {magic + stage, "first field is 4"},
		"no shader":             {begin, "no shader"},
		"a later version":       {begin + stage + field(9, 1), "tag 9"},
		"an order that is none": {begin + stage + field(tagSeparable, 1), "field 2 follows field 4"},
		"twice":                 {begin + field(tagSeparable, 1) + field(tagSeparable, 1) + stage, "field 2 follows field 2"},
		"cut in a head":         {begin + stage[:7], "within a field"},
		"cut in a field":        {begin + stage[:len(stage)-1], "field 4 has 12 bytes, and 11 follow"},
		"a length over all":     {begin + string(words(tagStage, 0xFFFFFFFF)) + "x", "4294967295 bytes"},
		"a short context":       {magic + field(tagContext, 1, 4), "field 1 has 8 bytes"},
		"a long flag":           {begin + field(tagCreated, 1, 1) + stage, "field 3 has 8 bytes"},
		"a flag of 2":           {begin + field(tagCreated, 2) + stage, "field 3 is 2"},
		"Vulkan":                {magic + field(tagContext, 3, 1, 0, 0, 0) + stage, "API is 3"},
		"version 400.5":         {magic + field(tagContext, 1, 400, 5, 0, 0) + stage, "version is 400.5"},
		"a mesh shader":         {begin + field(tagStage, 0x9559, formGLSL), "unknown type 0x9559"},
		"a form of later":       {begin + field(tagStage, uint32(Compute), 3), "unknown form 3"},
		"no module":             {begin + field(tagStage, uint32(Compute), formSPIRV, 4, 0x6e69616d, 0), "no module"},
		"many constants":        {begin + field(tagStage, uint32(Compute), formSPIRV, 4, 0x6e69616d, 0xFFFFFFFF), "within its constants"},
		"a long entry point":    {begin + field(tagStage, uint32(Compute), formSPIRV, 0xFFFFFFFF), "within its entry point"},
		"a name with a zero":    {begin + stage + field(tagAttribute, 0, 0x61006161), "zero byte"},
		"no name":               {begin + stage + field(tagOutput, 0, 0), "empty"},
		"a varying without end": {begin + stage + field(tagFeedback, 0x8C8C, 0x61616161), "zero byte"},
		"created of two":        {begin + field(tagCreated, 1) + stage + stage, "takes one shader"},
		"created with a zero":   {begin + field(tagCreated, 1) + field(tagStage, uint32(Compute), formGLSL, 0x20002020), "zero byte"},
		"a part of a word":      {begin + string(words(tagStage, 41, uint32(Compute), formSPIRV, 4, 0x6e69616d, 0, spirvMagic, 0, 0, 0, 0)) + "x", "no module"},
	} {
		p, err := decodeProgram([]byte(test.content))
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%s: %+v, %v; want %q", name, p, err, test.reason)
		}
	}
}

// A file and its fields have limits, whatever they hold.
func TestDecodeHasLimits(t *testing.T) {
	context := magic + string(words(tagContext, 20, 1, 4, 5, 1, 0))
	long := make([]byte, len(context)+8+maxFieldBytes+1)
	copy(long, context+string(words(tagStage, maxFieldBytes+1, uint32(Compute), formGLSL)))
	for want, content := range map[string][]byte{
		"field 4 has 67108865 bytes, and at most 67108864": long,
		"it has 268435457 bytes, and at most 268435456":    make([]byte, maxFileBytes+1),
	} {
		if _, err := decodeProgram(content); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q", err, want)
		}
	}
	if p, err := decodeProgram(append(long[:len(context):len(context)], words(tagStage, 12, uint32(Compute), formGLSL, 0x20202020)...)); err != nil || len(p.Stages) != 1 {
		t.Errorf("below the limits: %v", err)
	}
}

// What is small in a file is small in memory: a tab, or the end of a name, is 1 byte there and
// 16 here.
func TestAFileTakesNoMoreMemoryThanItHas(t *testing.T) {
	const size = 1 << 20
	context := magic + string(words(tagContext, 20, 1, 4, 5, 1, 0))
	stage := string(words(tagStage, 12, uint32(Compute), formGLSL, 0x20202020))
	first := "process\t0\t1\t/usr/bin/app\t123\n"
	for name, decode := range map[string]func() error{
		"names of feedback": func() error {
			_, err := decodeProgram([]byte(context + stage + string(words(tagFeedback, 4+size, 0x8C8C)) + strings.Repeat("\x00", size)))
			return err
		},
		"stages": func() error {
			_, err := decodeProgram([]byte(context + strings.Repeat(stage, size/len(stage))))
			return err
		},
		"a log of tabs": func() error {
			_, err := decodeProcess("x", []byte(strings.Repeat("\t", size)+"\n"))
			return err
		},
		"a line of tabs": func() error {
			p, err := decodeProcess("x", []byte(first+strings.Repeat("\t", size)+"\n"))
			if err == nil && p.Unread == 1 {
				err = ErrDamaged
			}
			return err
		},
		"a version that is long": func() error {
			_, err := decodeProcess("x", []byte("process\t0\t"+strings.Repeat("1", size)+"\tx\t1\n"))
			return err
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := decode()
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 6*size || !errors.Is(err, ErrDamaged) || len(err.Error()) > 200 {
			t.Errorf("%s: %d bytes for %d, %.100v", name, used, size, err)
		}
	}
}

// A log that is larger than any is not read, and costs no other one.
func TestLogsHaveALimit(t *testing.T) {
	from := create(t)
	for _, p := range []*Process{process("20260101T000000.000000000Z-1"), process("20260101T000000.000000000Z-2")} {
		if err := from.addProcess(p); err != nil {
			t.Fatal(err)
		}
	}
	first := filepath.Join(from.Path(), filepath.FromSlash(processesFolder), "20260101T000000.000000000Z-1"+processExt)
	if err := os.Truncate(first, maxLogBytes+1); err != nil {
		t.Fatal(err)
	}
	read := 0 // of the second, and of the one that create made
	for p, err := range from.Processes() {
		if p != nil {
			read++
		} else if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "at most 67108864 are possible") {
			t.Error(err)
		}
	}
	if m, err := create(t).Merge(from, nil); read != 2 || err != nil || m.Processes != 1 || len(m.Damaged) != 1 {
		t.Errorf("%d read; %+v, %v", read, m, err)
	}
}

// A log of short lines would take sixteen times its bytes of memory.
func TestLogsHaveALimitOfLines(t *testing.T) {
	log := process("1").encode()
	lost := bytes.Repeat([]byte("lost\t1\t\n"), maxLines+1)
	if _, err := decodeProcess("1", append(log, lost...)); !errors.Is(err, ErrDamaged) {
		t.Errorf("%d lines: %v", maxLines+1, err)
	}
	if p, err := decodeProcess("1", append(log, lost[:len(lost)/4]...)); err != nil || len(p.Lost) < maxLines/8 {
		t.Errorf("%d lines: %v", maxLines/4, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(everything().Encode())
	f.Add(compute(0).Encode())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := decodeProgram(data)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("another error: %v", err)
			}
			return
		}
		again, err := decodeProgram(p.Encode())
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}

func process(name string, programs ...shader.Digest) *Process {
	p := &Process{Name: name, Executable: "/usr/bin/app", Start: time.Unix(0, 1_700_000_000_000_000_123)}
	p.Contexts = []ContextUse{{1, Context{OpenGLES, 3, 2, 0, 0}, "Mesa", "llvmpipe (LLVM 15)", "OpenGL ES 3.2 Mesa"}}
	for i, d := range programs {
		p.Links = append(p.Links, Link{Event{time.Duration(10 * (i + 1)), d}, time.Duration(i + 1)})
		p.Uses = append(p.Uses, Event{time.Duration(1000 - i), d})
	}
	return p
}

func TestLogsComeBackAsTheyWere(t *testing.T) {
	p := process("1-2", shader.Digest{1}, shader.Digest{2})
	p.Failed = []Event{{99, shader.Digest{2}}}
	p.Binaries = []BinaryLoad{{5, 0x875F, 4096}}
	p.Lost = []Lost{{6, "the volume is full"}}
	got, err := decodeProcess("1-2", p.encode())
	if err != nil || !reflect.DeepEqual(got, p) {
		t.Errorf("%+v, %v; want %+v", got, err, p)
	}
}

func TestBadLines(t *testing.T) {
	first := "process\t0\t1\t/usr/bin/app\t123\n"
	digest := shader.Digest{7}.String()
	for name, log := range map[string]string{
		"cut at the end":   first + "use\t5\t" + digest,
		"no digest":        first + "use\t5\tabc\n",
		"another kind":     first + "draw\t5\t" + digest + "\n",
		"too many fields":  first + "use\t5\t" + digest + "\tx\n",
		"a negative time":  first + "use\t-5\t" + digest + "\n",
		"no number":        first + "link\t5\t" + digest + "\tlong\n",
		"a bad context":    first + "context\t1\t7\t4\t5\t0\t0\tv\tr\tx\n",
		"an empty line":    first + "\n",
		"bits beyond time": first + "use\t9223372036854775808\t" + digest + "\n",
	} {
		p, err := decodeProcess("x", []byte(log))
		if err != nil || p.Unread != 1 || len(p.Uses)+len(p.Links)+len(p.Contexts) > 0 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for _, log := range []string{"", "process\t0\t1\t/bin/x", "process\t0\t2\t/bin/x\t1\n", "use\t5\t" + digest + "\n", "process\t0\t1\tx\tsoon\n"} {
		if p, err := decodeProcess("x", []byte(log)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%q: %+v, %v", log, p, err)
		}
	}
}

func FuzzDecodeProcess(f *testing.F) {
	f.Add(process("x", shader.Digest{1}).encode())
	f.Add([]byte("process\t0\t1\tx\t1\nlost\t1\tno room\nbinary\t1\t2\t3\nfailed\t1\tx\n"))
	f.Fuzz(func(t *testing.T, log []byte) {
		p, err := decodeProcess("x", log)
		if err != nil {
			return
		}
		again, err := decodeProcess("x", p.encode())
		p.Unread = 0
		if err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}

func create(t *testing.T, programs ...*Program) *Recording {
	t.Helper()
	r, err := Create(filepath.Join(t.TempDir(), "recording"))
	if err != nil {
		t.Fatal(err)
	}
	var digests []shader.Digest
	for _, p := range programs {
		d, err := r.Add(p)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, d)
	}
	if err := r.addProcess(process("100-1", digests...)); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOpen(t *testing.T) {
	r := create(t, compute(0))
	if again, err := Open(r.Path()); err != nil || again.Path() != r.Path() || !Is(r.Path()) {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotRecording) || !strings.Contains(err.Error(), "no v1/programs") {
		t.Error(err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	later := t.TempDir()
	if err := os.MkdirAll(filepath.Join(later, "v2", "programs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(later); !errors.Is(err, ErrNotRecording) || !strings.Contains(err.Error(), "has v2") {
		t.Error(err)
	}
}

func TestMergeAndMissing(t *testing.T) {
	a, b := create(t, compute(0), compute(1)), create(t, compute(3), compute(1), compute(2))
	if err := os.WriteFile(filepath.Join(b.Path(), processesFolder, "odd.log"), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	missing, err := b.Missing(a)
	if want := []shader.Digest{compute(3).Digest(), compute(2).Digest()}; err != nil || !slices.Equal(missing, want) {
		t.Errorf("missing %v, %v; want %v", missing, err, want)
	}
	var last int
	m, err := a.Merge(b, func(done, total int) { last = total - done })
	if err != nil || m.Programs != 2 || m.Present != 1 || m.Processes != 1 || len(m.Damaged) != 1 || last != 0 {
		t.Errorf("%+v, %v", m, err)
	}
	again, err := a.Merge(b, nil)
	if err != nil || again.Programs != 0 || again.Processes != 0 || again.Present != 3 {
		t.Errorf("again: %+v, %v", again, err)
	}
	logs := a.Logs()
	if len(logs.Processes) != 2 || len(logs.Damaged) != 0 { // two logs of one name
		t.Errorf("%+v", logs)
	}
	if u := logs.Of(compute(1).Digest()); u.Processes != 2 || u.Links != 2 || u.FirstLink != 20 || u.FirstUse != 999 || u.LinkTime != 2 {
		t.Errorf("%+v", u)
	}
	data, err := a.programFile(compute(3).Digest())
	if err != nil || !bytes.Equal(data, compute(3).Encode()) {
		t.Error(err)
	}
}

func TestOrder(t *testing.T) {
	r := create(t, compute(5), compute(1), compute(3))
	unlogged, err := r.Add(compute(9))
	if err != nil {
		t.Fatal(err)
	}
	digests, err := r.Digests()
	if err != nil {
		t.Fatal(err)
	}
	r.Logs().Sort(digests)
	if want := []shader.Digest{compute(5).Digest(), compute(1).Digest(), compute(3).Digest(), unlogged}; !slices.Equal(digests, want) {
		t.Errorf("%v, want %v", digests, want)
	}
}

func TestContextNames(t *testing.T) {
	for want, c := range map[string]Context{
		"OpenGL 4.5 core":                       {OpenGL, 4, 5, ProfileCore, 0},
		"OpenGL ES 3.2 debug":                   {OpenGLES, 3, 2, 0, FlagDebug},
		"OpenGL 2.1":                            {OpenGL, 2, 1, 0, 0},
		"OpenGL 4.6 compatibility robust 0x100": {OpenGL, 4, 6, ProfileCompatibility, FlagRobust | 0x100},
	} {
		if got := c.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAProgramOfManyStagesHasAShortName(t *testing.T) {
	p := &Program{Stages: make([]Stage, maxFields)}
	if name := p.StageNames(); len(name) > 200 || !strings.HasSuffix(name, "+"+strconv.Itoa(maxFields-mostStageNames)+" more") {
		t.Errorf("%d bytes: %.300s", len(name), name)
	}
}
