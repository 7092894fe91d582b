//go:build linux

package clients_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
)

// envProgram has this test binary run as the program that computes what the examples do in
// a context of its own.
const envProgram = "SHADERCACHE_CLIENTS_PROGRAM"

// BenchmarkFirstResult measures the time from exec until a program has printed that one job
// of 4 KiB in and 4 KiB out gave the right result: the examples in C and Python and
// lab/bench/firstresult in Go, while the server has the program resident; the latter
// with a network whose weights are resident; then the interpreter that prints a line, and a
// Go program with a context of its own and its program on disk. They take turns, so that
// what else the machine does costs all of them the same. It reports the median of each in
// ms, and the least, and what the server compiled and uploaded after the first round.
func BenchmarkFirstResult(b *testing.B) {
	path := serve(b, server.Options{})
	programs := benchPrograms(b, path)
	times := map[string][]float64{}
	var before serverCounts
	for i := range b.N + 1 { // the first loads the programs and weights
		if i == 1 {
			before = countsOf(b, path)
		}
		took := map[string]float64{}
		for _, p := range programs {
			took[p.name] = p.time(b)
		}
		if _, measured := took["python"]; measured {
			took["python-beyond-start"] = took["python"] - took["python-start"]
		}
		for name, ms := range took {
			if i > 0 {
				times[name] = append(times[name], ms)
			}
		}
	}
	after := countsOf(b, path)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(after.Cache.Compiles-before.Cache.Compiles), "compiles")
	b.ReportMetric(float64(after.Counters.Weights-before.Counters.Weights), "weight-uploads")
	for name, ms := range times {
		slices.Sort(ms)
		b.ReportMetric(ms[len(ms)/2], name+"-ms")
		b.ReportMetric(ms[0], name+"-least-ms")
	}
}

// benchProgram is a program that prints how many of its results are wrong.
type benchProgram struct {
	name    string
	command []string
	env     []string
}

// serverCounts are those of the server's status that the benchmark needs.
type serverCounts struct {
	Cache    struct{ Compiles uint64 }
	Counters struct{ Weights uint64 }
}

func countsOf(b *testing.B, path string) (n serverCounts) {
	c, err := client.Dial(b.Context(), client.Options{Path: path})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	text, err := c.Status(b.Context())
	if err == nil {
		err = json.Unmarshal(text, &n)
	}
	if err != nil {
		b.Fatal(err)
	}
	return n
}

// firstResult returns the path of lab/bench/firstresult: $SHADERCACHE_TEST_FIRSTRESULT,
// for machines without Go, or built here.
func firstResult(b *testing.B) string {
	if path := os.Getenv("SHADERCACHE_TEST_FIRSTRESULT"); path != "" {
		return path
	}
	path := filepath.Join(b.TempDir(), "firstresult")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../../lab/bench/firstresult")
	build.Env = append(build.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return path
}

func benchPrograms(b *testing.B, path string) []benchProgram {
	var err error
	c := os.Getenv("SHADERCACHE_TEST_EXAMPLE") // for machines without a compiler
	if c == "" {
		if c, err = compile(b.TempDir(), "gcc", "c/example.c", "-std=c99", "-O2"); err != nil {
			b.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	env := append(os.Environ(),
		"SHADERCACHE_SERVER="+path, "SHADERCACHE_DIR="+filepath.Join(b.TempDir(), "cache"),
		"PYTHONPYCACHEPREFIX="+b.TempDir(), "PYTHONDONTWRITEBYTECODE=", // the module is compiled once
	)
	first := firstResult(b)
	programs := []benchProgram{
		{"c", []string{c}, env},
		{"go", []string{first, path}, env},
		{"go-network", []string{first, path, "network"}, env},
		{"in-process", []string{self}, append(slices.Clip(env), envProgram+"=process")},
	}
	if _, err := exec.LookPath(python()); err != nil {
		b.Log("no figures of Python: ", err)
		return programs
	}
	return append(programs, benchProgram{"python", []string{python(), "python/example.py"}, env},
		benchProgram{"python-start", []string{python(), "-c", "print(': 0 of 1024 wrong')"}, env})
}

var rightOutput = regexp.MustCompile(`: 0 of \d+ wrong\n$`)

// time runs the program once and returns its time until it has printed its result, in ms:
// an interpreter takes a while to end.
func (p benchProgram) time(b *testing.B) float64 {
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Env, cmd.Stderr = p.env, os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	line, err := bufio.NewReader(pipe).ReadString('\n')
	took := time.Since(start)
	if err := errors.Join(err, cmd.Wait()); err != nil || !rightOutput.MatchString(line) {
		b.Fatalf("%v: %v, printed %q", p.command, err, line)
	}
	return float64(took) / float64(time.Millisecond)
}

var double = shader.MustSource("double", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { float values[]; };
layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };
void main() { uint i = gl_GlobalInvocationID.x; doubled[i] = 2.0 * values[i]; }`, nil)

// runProgram runs the program that the environment asks for, and ends the process.
func runProgram() {
	if os.Getenv(envProgram) == "" {
		return
	}
	in, out, wrong := make([]byte, 4096), make([]byte, 4096), 0
	for i := range 1024 {
		binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(float32(i)))
	}
	if err := runOwnContext(in, out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := range 1024 {
		if math.Float32frombits(binary.LittleEndian.Uint32(out[4*i:])) != float32(2*i) {
			wrong++
		}
	}
	fmt.Printf("go: %d of 1024 wrong\n", wrong)
	os.Exit(0)
}

func runOwnContext(in, out []byte) (err error) {
	ctx := context.Background()
	gpu, err := shadercache.Open(shadercache.Options{Executor: executor.Options{SlotBytes: 64 << 10}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, gpu.Close()) }()
	p, err := gpu.Cache.Get(ctx, double)
	if err != nil {
		return err
	}
	defer p.Release()
	pending, err := gpu.Executor.Submit(ctx, job.Job{
		Dispatch: job.Dispatch{Program: p, Groups: [3]uint32{16, 1, 1}},
		Inputs:   []job.Input{{Binding: 0, Size: len(in), Fill: func(dst []byte) { copy(dst, in) }}},
		Outputs:  []job.Output{{Binding: 1, Size: len(out), Read: func(src []byte) { copy(out, src) }}},
	})
	if err != nil {
		return err
	}
	return pending.Wait(ctx)
}
