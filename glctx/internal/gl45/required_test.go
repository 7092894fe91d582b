package gl45

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryCallIsInAList keeps a new call from being made in a context that lacks it.
func TestEveryCallIsInAList(t *testing.T) {
	text, err := os.ReadFile("calls_cgo.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := slices.Concat(always, from45, byExtension)
	helpers := []string{"glGoStr", "glPtr", "glStr", "glStrs"}
	made := map[string]bool{}
	for _, call := range regexp.MustCompile(`(?m)^\t([A-Z]\w+) += gl\.([A-Z]\w+)$`).FindAllStringSubmatch(string(text), -1) {
		name := "gl" + call[1]
		if made[name] = true; call[1] != call[2] {
			t.Errorf("%s is %s of go-gl", call[1], call[2])
		}
		if !slices.Contains(listed, name) && !slices.Contains(helpers, name) {
			t.Errorf("%s is in none of always, from45 and byExtension", name)
		}
	}
	text, err = os.ReadFile("offset_cgo.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range regexp.MustCompile(`"(gl\w+)"`).FindAllStringSubmatch(string(text), -1) {
		made[call[1]] = true
	}
	for _, name := range listed {
		if n := strings.Count(strings.Join(listed, " ")+" ", name+" "); n != 1 {
			t.Errorf("%s is in %d lists", name, n)
		}
		if !made[name] {
			t.Errorf("%s is no call of this package", name)
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
		if got := FirstMissing(test.full, test.isMissing); got != test.want {
			t.Errorf("full %v: %q, want %q", test.full, got, test.want)
		}
	}
}
