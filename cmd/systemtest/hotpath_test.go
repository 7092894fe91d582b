package systemtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
)

// mayFinish lists the files that may stop everything until the GPU has done all
// it was given, and why: nothing that keeps running does.
var mayFinish = map[string]string{
	"glctx/mapped_buffer.go":         "has the GPU clear memory that the host cannot write, before it is handed out",
	"glctx/replay.go":                "replays a recording: waits for compiler threads of the driver, to measure them",
	"glctx/host_range.go":            "has kernels end before the host computes in memory that stays mapped, on software drivers, where they have ended already",
	"executor/memory_copy.go":        "ends a copy of memory that the caller owns before it returns",
	"lab/bench/dispatch/dispatch.go": "measures what finishing costs",
	"lab/bench/sessions/reread.go":   "times single dispatches",
	"lab/bench/jobs/calibrate.go":    "times single dispatches",
}

// TestNothingThatKeepsRunningFinishes looks for glFinish in the project's own text.
// That hot paths do not wait otherwise either, the counters of their tests say.
func TestNothingThatKeepsRunningFinishes(t *testing.T) {
	found := map[string]bool{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		if finishes(file) {
			found[name] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range found {
		if mayFinish[name] == "" {
			t.Errorf("%s calls glctx.GL.Finish: use a fence, or say in mayFinish why not", name)
		}
	}
	for name := range mayFinish {
		if !found[name] {
			t.Errorf("%s does not finish any more: take it off the list", name)
		}
	}
}

// finishes says whether a file calls Finish of what is called gl everywhere.
func finishes(file *ast.File) bool {
	is := false
	ast.Inspect(file, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if of, ok := call.Fun.(*ast.SelectorExpr); ok && of.Sel.Name == "Finish" {
				x, named := of.X.(*ast.Ident)
				is = is || named && x.Name == "gl"
			}
		}
		return true
	})
	return is
}
