//go:build !race

package portable

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// withoutDriver is all that compiles on systems for which there is no driver: libraries
// that open caches, and the front door, which returns an error there.
var withoutDriver = []string{
	"./shader/...", "./drivercache/...", "./binary/...", "./cache", "./internal/osfile",
	".", "./executor", "./glctx/...",
}

// TestOtherSystems is without the race detector, with which it takes ten times as long.
func TestOtherSystems(t *testing.T) {
	for system, packages := range map[string][]string{
		"linux":   {"-test", "./..."}, // without cgo, where tests compile too
		"windows": withoutDriver,
		"darwin":  withoutDriver,
	} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			checked, err := check("../..", system, packages)
			if err != nil {
				t.Error(err)
			}
			if checked < 10 {
				t.Errorf("%d packages were checked", checked)
			}
		})
	}
}

// TestFindsErrors checks a module that compiles for Linux alone.
func TestFindsErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":  "module example\n",
		"main.go": "package main\n\nimport \"syscall\"\n\nfunc main() { syscall.Flock(0, syscall.LOCK_EX) }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := check(dir, "linux", []string{"."}); err != nil {
		t.Errorf("linux: %v", err)
	}
	if _, err := check(dir, "windows", []string{"."}); err == nil || !strings.Contains(err.Error(), "undefined: syscall.LOCK_EX") {
		t.Errorf("windows: %v", err)
	}
}

// listed is a package as go list prints it.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string
	DepOnly         bool
	Module          *struct{ GoVersion string }
	Error           *struct{ Err string }
}

// check checks the types of packages, which are arguments of go list in a folder, for a
// system without cgo. It returns how many packages it checked.
func check(dir, system string, patterns []string) (checked int, err error) {
	list := exec.Command("go", append([]string{"list", "-e", "-deps",
		"-json=ImportPath,Dir,GoFiles,ImportMap,DepOnly,Module,Error"}, patterns...)...)
	list.Dir = dir
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS="+system)
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return 0, err
	}
	done := packages{"unsafe": types.Unsafe}
	var failures []error
	for d := json.NewDecoder(bytes.NewReader(out)); ; { // what a package imports comes before it
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return checked, errors.Join(failures...)
		} else if err != nil {
			return checked, err
		}
		if strings.HasSuffix(p.ImportPath, ".test") {
			continue // the generated main
		}
		if p.Error != nil && !p.DepOnly {
			failures = append(failures, errors.New(p.Error.Err))
		}
		failures = append(failures, done.check(p)...)
		if !p.DepOnly {
			checked++
		}
	}
}

// packages are checked packages by their paths.
type packages map[string]*types.Package

// check checks a package and returns its errors, if it is not a dependency alone.
func (done packages) check(p listed) (failures []error) {
	if p.ImportPath == "unsafe" {
		return nil
	}
	report := func(err error) {
		if !p.DepOnly {
			failures = append(failures, err)
		}
	}
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			report(err)
			continue
		}
		parsed = append(parsed, file)
	}
	config := types.Config{
		Importer:         imports{done, p.ImportMap},
		Sizes:            types.SizesFor("gc", "amd64"),
		IgnoreFuncBodies: p.DepOnly,
		Error:            report,
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		config.GoVersion = "go" + p.Module.GoVersion
	}
	done[p.ImportPath], _ = config.Check(p.ImportPath, files, parsed, nil)
	return failures
}

// imports are what a package imports: checked packages, by the paths that it writes.
type imports struct {
	done  packages
	paths map[string]string // where a path in the file is not that of the package
}

func (i imports) Import(path string) (*types.Package, error) {
	if other := i.paths[path]; other != "" {
		path = other
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, fmt.Errorf("%s is not among the packages that go list printed", path)
}
