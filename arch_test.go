package shadercache_test

import (
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

// mayImport lists, for each top folder, each folder of internal and some more, which
// others its packages may import.
// Imports go one way. Tests may import what they like.
var mayImport = map[string][]string{
	"internal/kernelset": {"cache", "executor", "shader"},
	"internal/faultgl":   {},
	"trace":              {"internal/osfile"},
	"internal/style":     {},
	"internal/report":    {"binary", "drivercache", "internal/cli", "internal/doctor", "internal/style", "trace"},
	"internal/powercut":  {},

	"examples": {".", "shader", "trace"}, // modules of their own

	"internal/browsertest": {},
	"internal/top":         {"binary", "drivercache", "internal/cli", "shader"},
	"internal/corpus":      {},
	"internal/futex":       {},
	"internal/portable":    {},
	"internal/servers":     {"internal/osfile"},
	"recording/replay":     {"binary", "cache", "cache/isolate", "drivercache", "glctx", "recording", "shader"},
	"remote/remotetest":    {"binary", "internal/servers", "remote", "shader"},

	"recorder":            {"internal/osfile"},
	"internal/recordtest": {},

	"server":            {".", "binary", "cache", "conv2d", "executor", "glctx", "internal/osfile", "server/ring", "server/socket", "server/wire", "shader", "trace"},
	"server/client":     {"server/ring", "server/socket", "server/wire", "shader"},
	"server/socket":     {"internal/osfile", "server/wire"},
	"server/status":     {"internal/style", "server"},
	"server/placement":  {"server/socket", "server/supervisor", "server/wire"},
	"server/supervisor": {},
	"server/ring":       {"server/wire"},
	"server/wire":       {},
	"clients":           {},

	".":               {"binary", "cache", "cache/isolate", "executor", "glctx", "remote", "server/client", "server/socket", "shader", "trace"}, // the front door
	"shader":          {},
	"recording":       {"internal/osfile", "shader"},
	"drivercache":     {"internal/osfile"},
	"binary":          {"drivercache", "internal/osfile", "shader"},
	"remote":          {"binary", "bundle", "drivercache", "internal/osfile", "shader", "trace"},
	"bundle":          {"binary", "drivercache", "internal/osfile", "shader"},
	"cache":           {"binary", "drivercache", "shader", "trace"},
	"cache/isolate":   {"binary", "cache", "drivercache", "shader"},
	"glctx":           {"binary", "drivercache", "internal/futex", "recording", "shader", "trace"},
	"executor":        {"binary", "cache", "glctx", "internal/futex", "shader", "trace"},
	"conv2d":          {"devices", ".", "binary", "cache", "executor", "glctx", "internal/kernelset", "internal/osfile", "server/client", "shader"},
	"devices":         {".", "cache", "shader"},
	"resident":        {".", "binary", "cache", "executor", "glctx", "internal/kernelset", "internal/osfile", "shader", "trace"},
	"demo":            {"devices", ".", "binary", "cache", "executor", "glctx", "internal/kernelset", "resident", "shader"},
	"internal/osfile": {},
	"internal/doctor": {"binary", "cache", "drivercache", "glctx", "internal/cli", "remote"},
	"internal/cli":    {"devices", ".", "binary", "bundle", "cache", "drivercache", "executor", "glctx", "internal/osfile", "remote", "shader", "trace"},
	"internal/bench":  {"devices", ".", "internal/report", "trace", "server/client", "binary", "bundle", "cache", "conv2d", "demo", "drivercache", "executor", "glctx", "internal/cli", "internal/osfile", "remote", "resident", "shader"},
	"cmd": {"devices", ".", "binary", "bundle", "cache", "conv2d", "demo", "drivercache", "executor", "glctx",
		"server", "server/client", "server/socket", "server/placement", "server/status", "server/supervisor",
		"cache/isolate", "internal/bench", "internal/cli", "internal/doctor", "internal/osfile", "internal/report", "internal/top", "recorder", "recording", "recording/replay", "remote", "resident", "shader", "trace"},
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

// top is the folder that decides what a file may import.
func (f goFile) top() string { return topFolder(f.dir) }

// topFolder returns the first part of a slash-separated path, or the first two where
// they have a rule of their own.
func topFolder(dir string) string {
	first, rest, _ := strings.Cut(dir, "/")
	second, _, _ := strings.Cut(rest, "/")
	if _, ruled := mayImport[first+"/"+second]; ruled || first == "internal" {
		return first + "/" + second
	}
	return first
}

func TestImportsGoOneWay(t *testing.T) {
	for _, f := range projectFiles(t) {
		allowed, known := mayImport[f.top()]
		if !known {
			t.Errorf("%s: folder %q is not in the import rules", f.path(), f.top())
		}
		if f.isTest() {
			continue
		}
		for _, imported := range f.imports {
			below, ours := strings.CutPrefix(imported, module)
			folder := topFolder(strings.TrimPrefix(below, "/"))
			if folder == "" {
				folder = "."
			}
			if ours && folder != f.top() && !slices.Contains(allowed, folder) {
				t.Errorf("%s imports %s: %s may import only %v", f.path(), imported, f.top(), allowed)
			}
		}
	}
}

// mayUseUnsafe has what the files that import unsafe outside glctx use it for.
var mayUseUnsafe = []string{
	"server/ring/ring.go",            // atomic access to memory that two processes share
	"internal/futex/thread_linux.go", // the word that the system call watches
}

func TestCgoStaysBehindItsFence(t *testing.T) {
	for _, f := range projectFiles(t) {
		if f.top() == "glctx" {
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
