//go:build linux

package clients_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/server"
	"github.com/shadercache/shadercache/server/internal/wire"
)

// Both clients run everything that they offer against the real server, with real results.
func TestClientsComputeRight(t *testing.T) {
	t.Parallel()
	path := serve(t, server.Options{})
	programs, err := checks()
	if err != nil {
		t.Fatal(err)
	}
	// One after the other: the second finds what the first named.
	for _, language := range []string{"c", "python"} {
		steps(t, programs[language], path,
			"open", "broken compile", "load", "find", "run", "memory", "many", "large", "params", "textures", "texture invalid", "counters", "cancel", "late",
			"buffer", "write", "read", "conflict conflict", "read", "gemm", "conv2d", "status", "forked forked", "run",
			"deadline deadline", "oversize usage", "run")
	}
	steps(t, programs["python"], path, "open", "load", "staged", "types", "find", "device", "resized", "crowded usage", "interrupted", "run", "network")
	steps(t, programs["c"], path, "open", "load", "refused", "quiet", "buffer", "read", "gemm", "delete", "delete-plan", "delete not found")
}

// What the client in Python keeps for reuse gives way to memory that a program asks for.
func TestPythonGivesUpWhatItKeeps(t *testing.T) {
	t.Parallel()
	programs, err := checks()
	if err != nil {
		t.Fatal(err)
	}
	path := serve(t, server.Options{Limits: wire.Limits{Memory: 4 << 20}})
	steps(t, programs["python"], path, "open", "load", "memory", "whole", "memory", "status")
}

// A client that is closed ends its session, also while a process that was forked lives.
func TestCloseEndsTheSession(t *testing.T) {
	t.Parallel()
	languages(t, func(t *testing.T, _ string, check []string) {
		steps(t, check, serve(t, server.Options{Sessions: 1}), "open", "left", "status")
	})
}

// elsewhere has every named buffer on device 0.
type elsewhere struct{}

func (elsewhere) Claim(string) (int, error) { return 0, nil }
func (elsewhere) Find(string) (int, error)  { return 0, nil }
func (elsewhere) Drop(string)               {}

// Both clients choose a device of a server with several, and get the error for a buffer of
// another one.
func TestClientsChooseADevice(t *testing.T) {
	t.Parallel()
	path := serve(t, server.Options{Device: server.Device{Number: 1, Count: 2, UUID: "c0ffee"}, Names: elsewhere{}})
	programs, err := checks()
	if err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"c", "python"} {
		steps(t, programs[language], path, "placed", "load", "run", "near", "placed-uuid", "buffer other device", "misplaced not found")
	}
}

// Arrays of numpy travel without a copy where they lie in shared memory.
func TestPythonTakesArraysOfNumpy(t *testing.T) {
	t.Parallel()
	if err := exec.Command(python(), "-c", "import numpy").Run(); err != nil {
		t.Skip("numpy is optional, and not installed: scripts/deps test installs it")
	}
	path := serve(t, server.Options{})
	programs, err := checks()
	if err != nil {
		t.Fatal(err)
	}
	steps(t, programs["python"], path, "open", "load", "numpy", "status")
}

// The examples run with a server that they find by the environment.
func TestExamplesRun(t *testing.T) {
	t.Parallel()
	path := serve(t, server.Options{})
	for source, c := range map[string][2]string{"c/example.c": {"gcc", "-std=c99"}, "c/example.cpp": {"g++", "-std=c++17"}} {
		t.Run(c[0], func(t *testing.T) {
			program, err := compile(t.TempDir(), c[0], source, append([]string{c[1]}, strict...)...)
			if err != nil {
				t.Fatal(err)
			}
			example(t, path, program)
		})
	}
	for _, script := range []string{"python/example.py", "python/example_image.py"} {
		t.Run(script, func(t *testing.T) { example(t, path, python(), script) })
	}
}

// example runs a program that finds the server by its environment.
func example(t *testing.T, path string, command ...string) {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(cmd.Environ(), "SHADERCACHE_SERVER="+path, "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), ": 0 of 1024 wrong\n") {
		t.Errorf("%v: printed %q", err, out)
	}
}

// The header has no warning in any language and compiler that it is for.
func TestHeaderHasNoWarnings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		compiler string
		flags    []string
	}{
		{"gcc", []string{"-std=c99"}},
		{"clang", []string{"-std=c99"}},
		{"g++", []string{"-std=c++17", "-x", "c++"}},
		{"clang++", []string{"-std=c++17", "-x", "c++"}},
	} {
		t.Run(c.compiler, func(t *testing.T) {
			compiler, err := exec.LookPath(c.compiler)
			if err != nil && strings.HasPrefix(c.compiler, "clang") {
				t.Skip("clang is optional, and not installed: scripts/deps clang installs it")
			} else if err != nil {
				t.Fatal(err)
			}
			flags := append(c.flags, "-O2", "-Wsign-conversion", "-Wshadow", "-Wcast-qual")
			if _, err := compile(t.TempDir(), filepath.Clean(compiler), "testdata/header.c", append(flags, strict...)...); err != nil {
				t.Error(err)
			}
		})
	}
}
