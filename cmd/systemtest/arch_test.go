package systemtest_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/shadercache/shadercache"

// layers has the top folders, the lowest first. The packages of a folder import lower ones
// alone, and those of one layer do not import each other. Tests may import what they like.
var layers = [][]string{
	{"internal"},
	{"shader", "drivercache", "trace"},
	{"binary", "recording", "job"},
	{"cache", "glctx", "fleet"},
	{"executor"},
	{"conv2d"},
	{"server"},
	{"."},
	{"devices", "resident"}, // which is a guest: commands and the lab alone import it
	{"cmd"},
	{"lab"}, // what measures and what shows
}

// goFile is one parsed file of the project.
type goFile struct {
	dir     string // slash-separated, relative to the root
	name    string
	imports []string
	doc     *ast.CommentGroup
	pkg     string
}

func (f goFile) path() string { return path.Join(f.dir, f.name) }

func (f goFile) isTest() bool { return strings.HasSuffix(f.name, "_test.go") }

// topFolder returns the first part of a slash-separated path.
func topFolder(dir string) string {
	first, _, _ := strings.Cut(dir, "/")
	return first
}

// layer returns the number of a top folder's layer, or -1.
func layer(top string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, top) })
}

func TestImportsGoOneWay(t *testing.T) {
	for _, f := range projectFiles(t) {
		top := topFolder(f.dir)
		if layer(top) < 0 {
			t.Errorf("%s: folder %q is in no layer", f.path(), top)
		}
		for _, imported := range f.imports {
			folder, ours := strings.CutPrefix(imported+"/", module+"/")
			if !ours || f.isTest() {
				continue
			}
			folder = strings.TrimSuffix(folder, "/")
			below := topFolder(cmp.Or(folder, "."))
			if below != top && layer(below) >= layer(top) {
				t.Errorf("%s imports %s, of a layer that is not below its own", f.path(), imported)
			}
		}
	}
}

// mayUseUnsafe has what the files that import unsafe outside glctx use it for.
var mayUseUnsafe = []string{
	"server/internal/ring/ring.go",   // atomic access to memory that two processes share
	"internal/futex/thread_linux.go", // the word that the system call watches
	"internal/raw/raw.go",            // numbers as bytes
}

func TestCgoStaysBehindItsFence(t *testing.T) {
	for _, f := range projectFiles(t) {
		if topFolder(f.dir) == "glctx" {
			continue
		}
		for _, imported := range f.imports {
			if imported == "unsafe" && slices.Contains(mayUseUnsafe, f.path()) {
				continue
			}
			if imported == "C" || imported == "unsafe" || strings.HasPrefix(imported, "github.com/go-gl/") {
				t.Errorf("%s imports %s: only glctx and mayUseUnsafe may", f.path(), imported)
			}
		}
	}
}

// make test builds these packages without cgo, and does not test them again: what they
// compile to is the same.
func TestPurePackagesHaveNoCgoBelowThem(t *testing.T) {
	pure := makeVariable(t, "PURE")
	list := exec.Command("go", append([]string{"list", "-tags", "egl", "-deps"}, pure...)...)
	list.Env = append(os.Environ(), "CGO_ENABLED=1")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list %s: %v", pure, err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, module+"/binary") {
		t.Fatalf("go list -deps %s: %q", pure, deps)
	}
	for _, cgo := range []string{"runtime/cgo", "net", "os/user"} {
		if slices.Contains(deps, cgo) {
			t.Errorf("%s links %s", pure, cgo)
		}
	}
}

// make fuzz runs the targets of the packages that it lists.
func TestEveryFuzzTargetIsListed(t *testing.T) {
	target := regexp.MustCompile(`(?m)^func Fuzz`)
	packages := map[string]bool{}
	for _, f := range projectFiles(t) {
		if !f.isTest() {
			continue
		}
		text, err := os.ReadFile(f.path())
		if err != nil {
			t.Fatal(err)
		}
		if target.Match(text) {
			packages["./"+f.dir] = true
		}
	}
	listed := makeVariable(t, "FUZZED")
	slices.Sort(listed)
	if want := slices.Sorted(maps.Keys(packages)); !slices.Equal(listed, want) {
		t.Errorf("FUZZED in the Makefile is\n%q, and packages with targets are\n%q", listed, want)
	}
}

// makeVariable returns the words of a variable of the Makefile.
func makeVariable(t *testing.T, name string) []string {
	t.Helper()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(strings.ReplaceAll(string(makefile), "\\\n", " "), "\n"+name+" ")
	if !found {
		t.Fatalf("the Makefile sets no %s", name)
	}
	text, _, _ = strings.Cut(strings.TrimLeft(text, " :="), "\n")
	return strings.Fields(text)
}

func TestNobodyNeedsAWindow(t *testing.T) {
	for _, f := range projectFiles(t) {
		if !f.isTest() && f.dir != "glctx/window" && slices.Contains(f.imports, module+"/glctx/window") {
			t.Errorf("%s imports glctx/window: servers would need X11 libraries", f.path())
		}
	}
}

func TestEveryPackageSaysWhatItIs(t *testing.T) {
	documented := map[string]int{}
	for _, f := range projectFiles(t) {
		if f.isTest() {
			continue
		}
		want := "Package " + f.pkg + " "
		if f.pkg == "main" {
			want = "Command "
		}
		documented[f.dir] += 0
		if f.doc != nil && strings.HasPrefix(f.doc.Text(), want) {
			documented[f.dir]++
		}
	}
	for dir, n := range documented {
		if n != 1 {
			t.Errorf("%s has %d package comments, not one", dir, n)
		}
	}
}

// projectFiles parses every Go file below the root, whatever system it is for.
func projectFiles(t *testing.T) []goFile {
	t.Helper()
	var files []goFile
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && skipped(d.Name()) {
			return fs.SkipDir
		}
		if !d.IsDir() && path.Ext(name) == ".go" {
			files = append(files, parse(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// skipped says which folders the go command does not look into either, and bin.
func skipped(dir string) bool {
	return dir == "testdata" || dir == "bin" || len(dir) > 1 && (dir[0] == '.' || dir[0] == '_')
}

func parse(t *testing.T, name string) goFile {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(name), nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	f := goFile{dir: path.Dir(name), name: path.Base(name), doc: tree.Doc, pkg: tree.Name.Name}
	for _, spec := range tree.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		f.imports = append(f.imports, imported)
	}
	return f
}
