//go:build linux

package faultgl_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/faultgl"
	"github.com/shadercache/shadercache/shader"
)

// childDir makes a process of the test compile, store and run two programs.
const childDir = "FAULTGL_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		child(dir)
		return
	}
	gltest.Main(m)
}

// child prints "NAME: ORIGIN VALUE" or "NAME: ERROR" for each program.
func child(dir string) {
	c, err := glctx.Open(glctx.Options{CacheDir: dir})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	fmt.Printf("renderer: %s\n", c.Info().GPU)
	programs, err := cache.New(c, cache.Options{Dir: dir})
	if err != nil {
		fmt.Println("cache:", err)
		return
	}
	for _, name := range []string{"first", "second"} {
		h, err := programs.Get(context.Background(), shader.MustSource(name, `#version 450
layout(local_size_x = 1) in;
layout(std430, binding = 0) buffer Out { uint word; };
void main() { word = 42u; } // `+name, nil))
		if err != nil {
			fmt.Printf("%s: %q\n", name, err)
			continue
		}
		word := []uint32{7}
		err = c.Do(func(gl *glctx.GL) error {
			b, err := gl.NewBuffer(4, glctx.Bytes(word))
			if err != nil {
				return err
			}
			defer gl.DeleteBuffer(b)
			gl.UseProgram(h.Program())
			gl.BindStorage(0, b)
			gl.Dispatch(1, 1, 1)
			gl.MemoryBarrier(glctx.BarrierAllKinds)
			f := gl.NewFence()
			if done, err := gl.WaitFence(f, 10*time.Second); err != nil || !done {
				return fmt.Errorf("fence: %t, %w", done, err)
			}
			gl.Download(b, 0, glctx.Bytes(word))
			return gl.Err()
		})
		fmt.Printf("%s: %v %d %v\n", name, h.Origin(), word[0], err)
		h.Release()
	}
	if err := errors.Join(programs.Close(), c.Close()); err != nil {
		fmt.Println("close:", err)
	}
}

// run runs child with a driver's faults and returns its output and how it ended.
func run(t *testing.T, dir string, environment []string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), childDir+"="+dir), environment...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// Each mode does at each entry point what it is documented to do, and the library
// without a fault changes nothing.
func TestFaults(t *testing.T) {
	gltest.Open(t)
	const good = "first: compiled 42 <nil>\nsecond: compiled 42 <nil>\n"
	for fault, want := range map[faultgl.Fault]string{
		{Mode: faultgl.Slow, Argument: "1", At: "glLinkProgram"}:                         good,
		{Mode: faultgl.Memory, Argument: "8", At: "glLinkProgram"}:                       good,
		{Mode: faultgl.Print, Argument: "a line", At: "glLinkProgram", Call: 2}:          "<nil>\na line\nsecond:",
		{Mode: faultgl.Refuse, At: "eglInitialize"}:                                      "EGL_NOT_INITIALIZED",
		{Mode: faultgl.OutOfMemory, At: "eglCreateContext"}:                              "EGL_BAD_ALLOC",
		{Mode: faultgl.Refuse, At: "eglMakeCurrent"}:                                     "EGL_BAD_ACCESS",
		{Mode: faultgl.Refuse, At: "glGetString"}:                                        "no context is current",
		{Mode: faultgl.Garbage, Argument: "escape", At: "glGetString"}:                   `\x1b[31mred`,
		{Mode: faultgl.Garbage, Argument: "bytes", At: "glGetString"}:                    `\xff\xfe`,
		{Mode: faultgl.Refuse, At: "glCompileShader", Source: "first"}:                   "refused by faultgl\"\nsecond: compiled 42",
		{Mode: faultgl.Garbage, At: "glLinkProgram", Source: "second"}:                   `first: compiled 42 <nil>` + "\nsecond: \"",
		{Mode: faultgl.OutOfMemory, At: "glLinkProgram", Source: "first"}:                "second: compiled 42",
		{Mode: faultgl.Wrong, At: "glLinkProgram", Source: "second"}:                     "first: compiled 42 <nil>\nsecond: compiled 7 <nil>",
		{Mode: faultgl.Wrong, At: "glDispatchCompute", Call: 2}:                          "second: compiled 7 <nil>",
		{Mode: faultgl.Refuse, At: "glFenceSync", Source: "first"}:                       "first: compiled 7 fence: false",
		{Mode: faultgl.Timeout, At: "glClientWaitSync", Source: "first"}:                 "first: compiled 7 fence: false",
		{Mode: faultgl.Lost, At: "glDispatchCompute"}:                                    "GL context lost",
		{Mode: faultgl.Wrong, At: "glGetNamedBufferSubData", Call: 1}:                    "second: compiled 42 <nil>",
		{Mode: faultgl.Slow, Argument: "1", At: "glFlush", While: "/does not exist"}:     good,
		{Mode: faultgl.Crash, At: "glLinkProgram", Source: "neither", Call: 1}:           good,
		{Mode: faultgl.OutOfMemory, At: "glNamedBufferStorage", Call: 2, Source: ""}:     "out of memory",
		{Mode: faultgl.Length, Argument: "0", At: "glGetProgramBinary", Source: "first"}: good,
	} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			out, err := run(t, t.TempDir(), faultgl.Environment(t, fault))
			if err != nil || !strings.Contains(out, want) {
				t.Errorf("%v; no %q in\n%s", err, want, out)
			}
		})
	}
}

// A process with a fault ends as the mode is documented, while the file exists, once.
func TestFaultsThatEndTheProcess(t *testing.T) {
	gltest.Open(t)
	file := filepath.Join(t.TempDir(), "exists")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, fault := range []faultgl.Fault{
		{Mode: faultgl.Crash, Argument: "9", At: "glLinkProgram"},
		{Mode: faultgl.CrashThread, At: "eglInitialize"},
		{Mode: faultgl.Exit, Argument: "42", At: "glProgramBinary", Source: "second"},
		{Mode: faultgl.Crash, Argument: "7", At: "glDispatchComputeIndirect", While: file},
		{Mode: faultgl.Refuse, At: "glNoSuchCall"},
		{Mode: faultgl.Timeout, At: "glLinkProgram"},
	} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			fault.Once = fault.Mode == faultgl.CrashThread
			dir, environment := t.TempDir(), faultgl.Environment(t, fault)
			out, err := run(t, dir, environment)
			exit, ended := errors.AsType[*exec.ExitError](err)
			switch {
			case fault.Mode == faultgl.Exit: // the first process compiles
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				out, err = run(t, dir, environment)
				if exit, ended = errors.AsType[*exec.ExitError](err); !ended || exit.ExitCode() != 42 || !strings.Contains(out, "first: disk 42") {
					t.Errorf("%v\n%s", err, out)
				}
			case !ended:
				t.Fatalf("it did not end with an error: %v\n%s", err, out)
			case fault.Mode == faultgl.CrashThread:
				if !strings.Contains(out, "SIGSEGV") && exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGSEGV {
					t.Errorf("%v\n%s", err, out)
				}
				if out, err := run(t, dir, environment); err != nil { // only once
					t.Errorf("%v\n%s", err, out)
				}
			case fault.Mode == faultgl.Refuse, fault.Mode == faultgl.Timeout:
				if exit.ExitCode() != 97 {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
}
