//go:build linux && cgo

package glctx_test

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestKindsAreWarmInBothLayers runs processes with contexts of each kind: the second
// compiles nothing, finds every program and its machine code on disk, and makes the
// driver write nothing.
func TestKindsAreWarmInBothLayers(t *testing.T) {
	mesa := strings.Contains(gltest.Open(t).Info().Driver, "Mesa")
	const es, gl43 = "#version 310 es\n", "#version 430 core\n"
	kind43 := glctx.Kind{Major: 4, Minor: 3}
	for name, test := range map[string]struct {
		task     machineCodeTask
		override string // of Mesa
	}{
		"es":           {machineCodeTask{Kind: glctx.Kind{API: glctx.OpenGLES}, Version: es}, ""},
		"es 3.1":       {machineCodeTask{Kind: gles31, Version: es}, "MESA_GLES_VERSION_OVERRIDE=3.1"},
		"gl 4.3":       {machineCodeTask{Kind: kind43, Version: gl43}, "MESA_GL_VERSION_OVERRIDE=4.3"},
		"adopted es":   {machineCodeTask{Kind: gles31, Version: es, Adopt: true}, "MESA_GLES_VERSION_OVERRIDE=3.1"},
		"adopted 4.3":  {machineCodeTask{Kind: kind43, Version: gl43, Adopt: true}, "MESA_GL_VERSION_OVERRIDE=4.3"},
		"robust es":    {machineCodeTask{Kind: glctx.Kind{API: glctx.OpenGLES, Robust: true}, Version: es}, ""},
		"compat":       {machineCodeTask{Kind: glctx.Kind{Major: 4, Minor: 5, Compatibility: true}}, ""},
		"many at once": {machineCodeTask{Kind: gles31, Version: es, Preload: true}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.override != "" && !mesa {
				t.Skip("the driver is not Mesa's: it has no override")
			}
			override := func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, test.override) }
			test.task.Dir = filepath.Join(t.TempDir(), "cache")
			if n := loadInChild(t, test.task, override); n.Compiles != machineCodePrograms {
				t.Fatalf("cold: %+v", n)
			}
			dir, err := binary.OpenDir(test.task.Dir)
			if err != nil {
				t.Fatal(err)
			}
			items := driverItems(dir)
			if len(items) == 0 {
				t.Error("the driver wrote nothing")
			}
			n := loadInChild(t, test.task, override)
			if n.Compiles != 0 || n.DiskHits != machineCodePrograms || n.MachineCodeMisses != 0 {
				t.Errorf("warm: %+v", n)
			}
			if now := driverItems(dir); !slices.Equal(items, now) {
				t.Errorf("the second process changed the driver's cache\nfrom %q\nto   %q", items, now)
			}
		})
	}
}
