//go:build unix && !aix && !solaris

package drivercache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// resetProcess makes Manage work as in a new process, with the given environment.
func resetProcess(t testing.TB, environment map[string]string) {
	t.Helper()
	for _, v := range append(variables("any"), Variable{Name: inheritedDir}) {
		t.Setenv(v.Name, environment[v.Name]) // restores the variable after the test
		if _, set := environment[v.Name]; !set {
			os.Unsetenv(v.Name)
		}
	}
	before := process.state
	process.state, process.lock = nil, nil
	process.number, process.fills, process.filled, process.fillErr, process.stale = 0, false, nil, nil, false
	process.programs.Store(false)
	t.Cleanup(func() {
		if process.filled != nil {
			<-process.filled
		}
		if process.lock != nil {
			release(t, process.lock)
		}
		process.state, process.lock = before, nil
	})
}

func TestManage(t *testing.T) {
	resetProcess(t, nil)
	if state, managed := Managed(); managed {
		t.Errorf("before Manage: %v", state)
	}
	if err := HoldAcrossExec(); err == nil {
		t.Error("no error without a managed directory")
	}
	dir := filepath.Join(t.TempDir(), "driver")
	want := State{Managed: true, Dir: dir}
	for range 2 {
		if state := Manage(dir); state != want || state.String() != "managed in "+dir {
			t.Errorf("got %v, want %v", state, want)
		}
	}
	if state, managed := Managed(); !managed || state != want {
		t.Errorf("Managed returns %v, %v", state, managed)
	}
	for _, v := range append(variables(dir), Variable{inheritedDir, dir}) {
		if got := os.Getenv(v.Name); got != v.Value {
			t.Errorf("%s is %q, not %q", v.Name, got, v.Value)
		}
	}
	wantInUse(t, dir)
	other := filepath.Join(t.TempDir(), "driver")
	if state := Manage(other); state.Managed || state.Dir != dir || !strings.Contains(state.String(), "not managed: ") {
		t.Errorf("another directory: %v", state)
	}
	if _, err := os.Lstat(other); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the other directory: %v", err)
	}
}

func TestManageKeepsVariablesOfTheUser(t *testing.T) {
	dir, parent := filepath.Join(t.TempDir(), "driver"), "/cache/of/the/parent"
	resetProcess(t, map[string]string{
		"MESA_SHADER_CACHE_DIR":       "/cache/of/the/user",
		"__GL_SHADER_DISK_CACHE":      "1", // as Manage sets it
		"__GL_SHADER_DISK_CACHE_PATH": parent + "/nvidia",
		inheritedDir:                  parent,
	})
	state := Manage(dir)
	if want := "set by the user: MESA_SHADER_CACHE_DIR=/cache/of/the/user"; !state.Managed || state.Reason != want {
		t.Errorf("got %v, want the reason %q", state, want)
	}
	for name, want := range map[string]string{
		"MESA_SHADER_CACHE_DIR":       "/cache/of/the/user",
		"__GL_SHADER_DISK_CACHE_PATH": filepath.Join(dir, "nvidia"),
		inheritedDir:                  dir,
	} {
		if got := os.Getenv(name); got != want {
			t.Errorf("%s is %q, not %q", name, got, want)
		}
	}
}

func TestManageInAnImpossibleFolder(t *testing.T) {
	resetProcess(t, nil)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if state := Manage(filepath.Join(file, "driver")); state.Managed || state.Reason == "" {
		t.Errorf("got %v", state)
	}
	if value, set := os.LookupEnv("MESA_SHADER_CACHE_DIR"); set {
		t.Errorf("the environment was changed: %q", value)
	}
}
