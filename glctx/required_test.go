//go:build linux && cgo

package glctx

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryCallIsInAList keeps a new call from being made in a context that lacks it. Those
// for programs of recordings are made where a version or an extension has them.
func TestEveryCallIsInAList(t *testing.T) {
	listed := slices.Concat(always, from45, byExtension)
	helpers := []string{"glGoStr", "glPtr", "glStr", "glStrs", "glDebugProc", "glInitWithProcAddrFunc"}
	made := map[string]bool{}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") || file == "required.go" || strings.HasPrefix(file, "replay") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`\bgl45\.(\w*[a-z]\w*)`).FindAllStringSubmatch(string(text), -1) {
			name := "gl" + call[1]
			if made[name] = true; !slices.Contains(listed, name) && !slices.Contains(helpers, name) {
				t.Errorf("%s: %s is in none of always, from45 and byExtension", file, name)
			}
		}
		if file == "offset.go" {
			for _, call := range regexp.MustCompile(`"(gl\w+)"`).FindAllStringSubmatch(string(text), -1) {
				made[call[1]] = true
			}
		}
	}
	for _, name := range listed {
		if n := strings.Count(strings.Join(listed, " ")+" ", name+" "); n != 1 {
			t.Errorf("%s is in %d lists", name, n)
		}
		if !made[name] {
			t.Errorf("no call of %s is made", name)
		}
	}
}

func TestFirstMissing(t *testing.T) {
	none := func(string) bool { return false }
	without := func(lacks string) func(string) bool { return func(name string) bool { return name == lacks } }
	for _, test := range []struct {
		full      bool
		isMissing func(string) bool
		want      string
	}{
		{true, none, ""},
		{false, none, ""},
		{true, without("glDispatchCompute"), "glDispatchCompute"},
		{false, without("glDispatchCompute"), "glDispatchCompute"},
		{true, without("glNamedBufferStorage"), "glNamedBufferStorage"},
		{false, without("glNamedBufferStorage"), ""},
		{true, without("glMaxShaderCompilerThreadsKHR"), ""},
	} {
		if got := firstMissing(test.full, test.isMissing); got != test.want {
			t.Errorf("full %v: %q, want %q", test.full, got, test.want)
		}
	}
}
