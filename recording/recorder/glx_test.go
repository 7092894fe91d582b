//go:build linux

package recorder_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/internal/recordtest"
)

// display returns the name of an X server's display, which it starts where there is none.
func display(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("DISPLAY"); name != "" {
		return name
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x := exec.Command("Xvfb", "-displayfd", "3", "-screen", "0", "64x64x24", "-noreset")
	x.ExtraFiles = []*os.File{write}
	if err := x.Start(); err != nil {
		if os.Getenv(gltest.RequireGL) != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		x.Process.Kill()
		x.Wait()
	})
	write.Close()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return ":" + strings.TrimSpace(line)
}

// A program that makes its contexts by GLX is recorded, by the names of ARB_shader_objects
// and by those of today.
func TestGLX(t *testing.T) {
	t.Parallel()
	name := display(t)
	stage := func(stage uint32, text string) recordtest.Stage { return recordtest.Stage{Stage: stage, Text: text} }
	for how, want := range map[string]recordtest.Program{
		"old": {Attributes: []string{"a=2"}, Stages: []recordtest.Stage{
			stage(vertex, "#version 120\nattribute vec4 a;\nvoid main() { gl_Position = a; }\n"),
			stage(fragment, "#version 120\nvoid main() { gl_FragColor = vec4(1.0); }\n"),
		}},
		"modern": {Stages: []recordtest.Stage{stage(compute, "#version 430\nlayout(local_size_x = 1) in;\nvoid main() {}\n")}},
	} {
		folder := t.TempDir()
		cmd := plain.command(t, folder, plain.program(t, "glx.c", "-lGL", "-lX11"), how)
		cmd.Env = append(cmd.Env, "DISPLAY="+name)
		run(t, cmd)
		for _, program := range read(t, folder).Programs {
			want.Context = program.Context
			if how == "modern" {
				want.Context = [5]uint32{1, 4, 5, 1, 2} // core profile, with the flag of debug contexts
			}
		}
		check(t, folder, recorded{[]recordtest.Program{want}, []string{"link0 use0"}})
	}
}
