// Command size measures what has to be read to hold this project, and compares it with
// budgets: lines of code, public names, what lies at the top, lines of pages. Lines are
// those with code, without imports; tests and what supports them are counted apart. It
// exits with 1 where a budget is passed.
//
//	make size
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// budgets are the most that each count may be. One that a count is below by far is
// lowered to it: what was reached is kept. Numbers in brackets are where it should go.
var budgets = []struct {
	what string
	most int
	of   func(*tree) int
}{
	{"lines of code of the product", 68_512, func(t *tree) int { return t.lines(product) }},      // [64000]
	{"  of its core", 23_924, func(t *tree) int { return t.lines(core) }},                        // [24000]
	{"  of cmd/", 12_310, func(t *tree) int { return t.lines(below("cmd")) }},                    // [9000]
	{"  of internal/", 589, func(t *tree) int { return t.lines(below("internal")) }},             //
	{"lines of code of lab/", 15000, func(t *tree) int { return t.lines(below("lab")) }},         //
	{"public names", 944, func(t *tree) int { return t.names }},                                  // [1000]
	{"folders and files at the top", 40, func(t *tree) int { return t.atTop }},                   //
	{"Go files at the top", 6, func(t *tree) int { return t.filesAtTop }},                        // [6]
	{"lines of pages but specifications", 4500, func(t *tree) int { return t.pages }},            //
	{"KiB of logs", 600, func(t *tree) int { return int(t.logs / 1024) }},                        //
	{"lines of tests and what supports them", 1 << 20, func(t *tree) int { return t.testLines }}, // without a budget
}

func main() {
	t := &tree{code: map[string]int{}}
	if err := t.read(os.DirFS(".")); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(2)
	}
	passed := 0
	for _, b := range budgets {
		n, mark := b.of(t), ""
		if n > b.most {
			mark, passed = "  OVER", passed+1
		}
		fmt.Printf("%-40s %7d  at most %7d%s\n", b.what, n, b.most, mark)
	}
	if passed > 0 {
		fmt.Fprintf(os.Stderr, "size: %d budgets of lab/size are passed (hint: what can go in exchange?)\n", passed)
		os.Exit(1)
	}
}

// tree is what is counted.
type tree struct {
	code              map[string]int // lines by folder, without tests
	testLines, names  int
	atTop, filesAtTop int
	pages             int
	logs              int64
}

// lines sums the folders for which in returns true.
func (t *tree) lines(in func(folder string) bool) (n int) {
	for folder, lines := range t.code {
		if in(folder) {
			n += lines
		}
	}
	return n
}

func top(folder string) string {
	first, _, _ := strings.Cut(folder, "/")
	return first
}

func below(name string) func(string) bool {
	return func(folder string) bool { return top(folder) == name }
}

func product(folder string) bool { return top(folder) != "lab" }

func core(folder string) bool {
	return slices.Contains([]string{".", "job", "shader", "drivercache", "binary", "cache", "glctx", "executor"}, top(folder))
}

// supportsTests reports whether a folder has what tests share, and no product.
func supportsTests(folder string) bool {
	return slices.ContainsFunc(strings.Split(folder, "/"), func(part string) bool {
		return strings.HasSuffix(part, "test") || slices.Contains([]string{"testdata", "faultgl", "powercut", "servers", "portable"}, part)
	})
}

func (t *tree) read(root fs.FS) error {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name()[0] != '.' && e.Name() != "bin" {
			t.atTop++
		}
	}
	return fs.WalkDir(root, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && (e.Name()[0] == '.' || e.Name() == "node_modules" || name == "bin"):
			return fs.SkipDir
		case e.IsDir():
			return nil
		case strings.HasSuffix(name, ".go"):
			return t.readGo(name)
		case strings.HasPrefix(name, "docs/logs/"):
			info, err := e.Info()
			if err == nil {
				t.logs += info.Size()
			}
			return err
		case name == "README.md" || strings.HasPrefix(name, "docs/") && strings.HasSuffix(name, ".md") && e.Name() != "format.md" && e.Name() != "protocol.md":
			n, err := linesOf(name)
			t.pages += n
			return err
		}
		return nil
	})
}

func linesOf(name string) (n int, err error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for s.Buffer(nil, 1<<20); s.Scan(); n++ {
	}
	return n, s.Err()
}

func (t *tree) readGo(name string) error {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, filepath.FromSlash(name), nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder, lines := path.Dir(name), codeLines(files, file)
	if strings.HasSuffix(name, "_test.go") || supportsTests(folder) {
		t.testLines += lines
		return nil
	}
	t.code[folder] += lines
	if folder == "." {
		t.filesAtTop++
	}
	if isPublic(folder) && file.Name.Name != "main" {
		for _, d := range file.Decls {
			t.names += publicNames(d)
		}
	}
	return nil
}

func isPublic(folder string) bool {
	return !strings.Contains("/"+folder+"/", "/internal/") && top(folder) != "cmd" && top(folder) != "lab"
}

// codeLines counts the lines on which a node of the file's syntax begins or ends, without
// imports: comments and blank lines have none.
func codeLines(files *token.FileSet, file *ast.File) int {
	seen := map[int]bool{files.Position(file.Package).Line: true}
	mark := func(p token.Pos) { seen[files.Position(p).Line] = true }
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case nil, *ast.Comment, *ast.CommentGroup:
				return false
			case *ast.BasicLit: // a text of several lines
				for p := n.Pos(); p < n.End(); p++ {
					mark(p)
				}
			default:
				if f, ok := n.(*ast.FuncDecl); ok && f.Doc != nil {
					mark(f.Type.Pos())
				} else {
					mark(n.Pos())
				}
				mark(n.End() - 1)
			}
			return true
		})
	}
	return len(seen)
}

// publicNames counts the exported names that a declaration adds to its package.
func publicNames(d ast.Decl) (n int) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Name.IsExported() {
			n++
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					n++
				}
			case *ast.ValueSpec:
				for _, name := range s.Names {
					if name.IsExported() {
						n++
					}
				}
			}
		}
	}
	return n
}
