package systemtest_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// notForUsers is the variables that processes set for those that they start, and those of
// tests.
var notForUsers = []string{
	"SHADERCACHE_ISOLATED", "SHADERCACHE_ISOLATED_DRIVER_CACHE", "SHADERCACHE_ISOLATED_REPLIES", "SHADERCACHE_TRIAL",
	"SHADERCACHE_SOAK", "SHADERCACHE_BENCH_STARTED",
}

// TestVariablesAreDocumented keeps the table of docs/operations.md equal to the variables
// that the code has.
func TestVariablesAreDocumented(t *testing.T) {
	literal := regexp.MustCompile(`"(SHADERCACHE_[A-Z_]+)"`)
	inCode := map[string]bool{}
	for _, f := range projectFiles(t) {
		if f.isTest() || supportsTests(f.dir) {
			continue
		}
		text, err := os.ReadFile(f.path())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
			inCode[m[1]] = !slices.Contains(notForUsers, m[1])
		}
	}
	maps.DeleteFunc(inCode, func(_ string, users bool) bool { return !users })
	page, err := os.ReadFile("docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Variables\n")
	table, _, _ = strings.Cut(table, "\n## ")
	inTable := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(SHADERCACHE_[A-Z_]+)`").FindAllStringSubmatch(table, -1) {
		inTable[m[1]] = true
	}
	code, documented := slices.Sorted(maps.Keys(inCode)), slices.Sorted(maps.Keys(inTable))
	if len(code) == 0 || !slices.Equal(code, documented) {
		t.Errorf("the code has\n%q, docs/operations.md has\n%q", code, documented)
	}
}

// supportsTests reports whether a folder has what tests share, and no product.
func supportsTests(dir string) bool {
	return strings.HasPrefix(dir, "internal/") || strings.HasPrefix(dir, "lab/") || strings.HasSuffix(dir, "test")
}
