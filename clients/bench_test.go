//go:build linux

package clients_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/client"
	"github.com/shadercache/shadercache/shader"
)

// envProgram has this test binary run as a program that computes what the examples do:
// "client" through a server, "process" with a context of its own.
const envProgram = "SHADERCACHE_CLIENTS_PROGRAM"

// BenchmarkFirstResult measures the time from exec to the end of a program that runs one
// job of 4 KiB in and 4 KiB out and verifies it: the examples in C and Python and the same
// in Go, while the server has the program resident; then the interpreter that prints a
// line, and the same Go program with a context of its own and its program on disk. They
// take turns, so that what else the machine does costs all of them the same. It reports
// the median of each in ms, and the least.
func BenchmarkFirstResult(b *testing.B) {
	programs := benchPrograms(b)
	times := map[string][]float64{}
	for i := range b.N + 1 { // the first loads the program
		took := map[string]float64{}
		for _, p := range programs {
			took[p.name] = p.time(b)
		}
		took["python-beyond-start"] = took["python"] - took["python-start"]
		for name, ms := range took {
			if i > 0 {
				times[name] = append(times[name], ms)
			}
		}
	}
	b.ReportMetric(0, "ns/op")
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

func benchPrograms(b *testing.B) []benchProgram {
	path := serve(b, server.Options{})
	c, err := compile(b.TempDir(), "gcc", "c/example.c", "-std=c99", "-O2")
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	env := append(os.Environ(),
		"SHADERCACHE_SERVER="+path, "SHADERCACHE_DIR="+filepath.Join(b.TempDir(), "cache"),
		"PYTHONPYCACHEPREFIX="+b.TempDir(), "PYTHONDONTWRITEBYTECODE=", // the module is compiled once
	)
	with := func(program string) []string { return append(slices.Clip(env), envProgram+"="+program) }
	return []benchProgram{
		{"c", []string{c}, env},
		{"go", []string{self}, with("client")},
		{"python", []string{python(), "python/example.py"}, env},
		{"python-start", []string{python(), "-c", "print(': 0 of 1024 wrong')"}, env},
		{"in-process", []string{self}, with("process")},
	}
}

// time runs the program once and returns its time in ms.
func (p benchProgram) time(b *testing.B) float64 {
	cmd := exec.Command(p.command[0], p.command[1:]...)
	cmd.Env = p.env
	start := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(start)
	if err != nil || !strings.HasSuffix(string(out), ": 0 of 1024 wrong\n") {
		b.Fatalf("%v: %v, printed %q", p.command, err, out)
	}
	return float64(took) / float64(time.Millisecond)
}

var double = shader.MustSource("double", `
layout(local_size_x = 64) in;
layout(std430, binding = 0) readonly buffer In { float values[]; };
layout(std430, binding = 1) writeonly buffer Out { float doubled[]; };
void main() { uint i = gl_GlobalInvocationID.x; doubled[i] = 2.0 * values[i]; }`, nil)

// runProgram runs the program that the environment names, and ends the process.
func runProgram() {
	run := map[string]func(in, out []byte) error{"client": runClient, "process": runOwnContext}[os.Getenv(envProgram)]
	if run == nil {
		return
	}
	in, out, wrong := make([]byte, 4096), make([]byte, 4096), 0
	for i := range 1024 {
		binary.LittleEndian.PutUint32(in[4*i:], math.Float32bits(float32(i)))
	}
	if err := run(in, out); err != nil {
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

func runClient(in, out []byte) error {
	ctx := context.Background()
	c, err := client.Dial(ctx, client.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.Program(ctx, double)
	if err != nil {
		return err
	}
	pending, err := c.Submit(ctx, &client.Job{
		Dispatch: client.Dispatch{Program: p, Groups: [3]uint32{16, 1, 1}},
		Inputs:   []client.Input{{Binding: 0, Data: in}},
		Outputs:  []client.Output{{Binding: 1, To: out}},
	})
	if err != nil {
		return err
	}
	return pending.Wait(ctx)
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
	pending, err := gpu.Executor.Submit(ctx, executor.Job{
		Dispatch: executor.Dispatch{Program: p, Groups: [3]uint32{16, 1, 1}},
		Inputs:   []executor.Input{{Binding: 0, Size: len(in), Fill: func(dst []byte) { copy(dst, in) }}},
		Outputs:  []executor.Output{{Binding: 1, Size: len(out), Read: func(src []byte) { copy(out, src) }}},
	})
	if err != nil {
		return err
	}
	return pending.Wait(ctx)
}
