//go:build linux

package shadercache_test

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// TestMain gives the example a cache directory of its own, and leaves the
// example out where there is no driver and nobody demands one.
func TestMain(m *testing.M) {
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	gltest.Neutral()
	dir, err := os.MkdirTemp("", "shadercache-example-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	os.Setenv("SHADERCACHE_DIR", dir)
	context, err := glctx.Open(glctx.Options{})
	switch {
	case err == nil:
		context.Close()
	case os.Getenv(gltest.RequireGL) == "":
		flag.Parse()
		flag.Set("test.skip", "^Example")
	}
	return m.Run()
}

// The program in the README is the example, so that it is known to work.
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
		"//go:build linux\n\n", "",
		"package shadercache_test", "package main",
		"func Example()", "func main()",
		"\t// Output: [2 4 6 8]\n", "",
	).Replace(string(example))
	if !strings.Contains(string(readme), "```go\n"+program+"```\n") {
		t.Errorf("README.md does not show this program:\n%s", program)
	}
}
