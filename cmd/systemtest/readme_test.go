//go:build linux

package systemtest_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// The program in the README is built and run as it is printed there.
func TestReadmeProgramRuns(t *testing.T) {
	gltest.Open(t) // skips or fails where there is no driver
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if out, err := buildReadmeProgram(t, program); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "SHADERCACHE_DIR="+filepath.Join(dir, "cache"))
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "[2 4 6 8]\n" {
		t.Errorf("printed %q, %v", out, err)
	}
}

// A program that uses the front door can be built without cgo, and ends with an error that
// says how to build it. make test builds the front door for other systems.
func TestReadmeProgramWithoutCgo(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "program")
	if out, err := buildReadmeProgram(t, program, "CGO_ENABLED=0"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(program).CombinedOutput()
	for _, part := range []string{glctx.ErrNotBuilt.Error(), "CGO_ENABLED=1", "-tags egl", "libegl-dev"} {
		if err == nil || !strings.Contains(string(out), part) {
			t.Errorf("no %q in %q, %v", part, out, err)
		}
	}
}

// buildReadmeProgram builds the program in the README and returns what the compiler
// printed.
func buildReadmeProgram(t *testing.T, to string, environment ...string) ([]byte, error) {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(readme), "```go\n")
	text, _, _ = strings.Cut(text, "```\n")
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	program, overlay := filepath.Join(dir, "main.go"), filepath.Join(dir, "overlay.json")
	// The overlay puts the program into the module, where its imports are known.
	replaced, err := json.Marshal(map[string]map[string]string{"Replace": {filepath.Join(root, "readme", "main.go"): program}})
	if err := errors.Join(err, os.WriteFile(program, []byte(text), 0o600), os.WriteFile(overlay, replaced, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-tags", "egl", "-ldflags=-w", "-overlay", overlay, "-o", to, "./readme")
	cmd.Env = append(os.Environ(), environment...)
	return cmd.CombinedOutput()
}

// The program in the README is the example, which the package documentation shows.
func TestReadmeShowsTheExample(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	program := strings.NewReplacer(
		"package shadercache_test", "package main",
		"func Example()", "func main()",
		"\t// Output: [2 4 6 8]\n", "",
	).Replace(string(example))
	if !strings.Contains(string(readme), "```go\n"+program+"```\n") {
		t.Errorf("README.md does not show this program:\n%s", program)
	}
}
