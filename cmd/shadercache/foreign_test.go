//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/glctx/gltest"
)

// foreignPrograms is the number of compute shaders of the program in Python.
const foreignPrograms = 8

// foreignText is the text that the program hands to the driver: with defines in it, as it
// composes them, line ends of Windows, and a comment before the version.
func foreignText(i int) string {
	return fmt.Sprintf("// kernel %d\r\n#version 430\r\n#define FACTOR %d.0\r\n", i, i+2) +
		"layout(local_size_x = 32) in;\r\nlayout(std430, binding = 0) buffer Data { float data[]; };\r\n" +
		"void main() {\r\n" + strings.Repeat("  data[gl_GlobalInvocationID.x] = sqrt(data[gl_GlobalInvocationID.x] * data[gl_GlobalInvocationID.x]) * FACTOR;\r\n", 1+i%3) + "}\r\n"
}

// foreignProgram is a program in Python, without anything of this project.
const foreignProgram = `
import struct, sys, moderngl
ctx = moderngl.create_standalone_context(require=430, backend='egl')
for i in range(int(sys.argv[2])):
    with open('%s/%d.glsl' % (sys.argv[1], i), newline='') as f:
        shader = ctx.compute_shader(f.read())
    data = struct.pack('32f', *range(1, 33))
    buffer = ctx.buffer(data)
    buffer.bind_to_storage_buffer(0)
    shader.run(1)
    want = [float(v) * (i + 2) ** (1 + i % 3) for v in range(1, 33)]
    got = struct.unpack('32f', buffer.read())
    assert all(abs(a - b) <= 1e-5 * b for a, b in zip(got, want)), (i, got, want)
print('correct')
`

// A program of another language finds on its first start what preload compiled, because
// the text that the driver gets is the same, byte for byte.
func TestPreloadForAProgramInPython(t *testing.T) {
	gltest.Open(t) // skips or fails without a driver
	const python = "/usr/bin/python3"
	if err := exec.Command(python, "-c", "import moderngl").Run(); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("scripts/deps test installs python3-moderngl: ", err)
		}
		t.Skip("python3-moderngl is not installed: ", err)
	}
	texts := t.TempDir()
	list, arguments := []map[string]string{}, []string{filepath.Join(texts, "programs.json")}
	for i := range foreignPrograms {
		name := fmt.Sprintf("%d.glsl", i)
		if err := os.WriteFile(filepath.Join(texts, name), []byte(foreignText(i)), 0o644); err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			list = append(list, map[string]string{"name": name, "text": foreignText(i)})
		case 1:
			list = append(list, map[string]string{"name": name, "text_file": name})
		case 2: // a file is used unchanged too, without defines and includes
			arguments = append(arguments, filepath.Join(texts, name))
		}
	}
	manifest, err := json.Marshal(map[string]any{"programs": list})
	if err == nil {
		err = os.WriteFile(filepath.Join(texts, "programs.json"), manifest, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	start := func(dir string) (files int, cpu time.Duration) {
		before := driverFileCount(t, dir)
		cmd := exec.Command("shadercache", "--dir", dir, "exec", "--", python, "-c", foreignProgram, texts, fmt.Sprint(foreignPrograms))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "correct") {
			t.Fatalf("%v\n%s", err, out)
		}
		return driverFileCount(t, dir) - before, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	cold, filled := filepath.Join(t.TempDir(), "cold"), filepath.Join(t.TempDir(), "filled")
	coldFiles, coldTime := start(cold)
	secondFiles, secondTime := start(cold)
	if out, err := exec.Command("shadercache", append([]string{"--dir", filled, "preload"}, arguments...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	files, cpu := start(filled)
	t.Logf("the driver wrote %d files in the first start (%v of CPU time), %d in the second (%v), and after a preload %d in the first (%v)",
		coldFiles, coldTime, secondFiles, secondTime, files, cpu)
	if coldFiles == 0 { // most may be lost: Mesa writes from a thread, until the program ends
		t.Errorf("without a preload the driver wrote %d files", coldFiles)
	}
	if files != 0 {
		t.Errorf("after the preload the first start made the driver write %d files", files)
	}
}

// driverFileCount returns the number of files in the driver's own cache.
func driverFileCount(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "driver"), func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return n
}
