package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestManPages formats the pages with groff, where it is installed.
func TestManPages(t *testing.T) {
	dir := t.TempDir()
	root, _ := rootFor(io.Discard)
	root.SetArgs([]string{"man", dir})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "shadercache*.1"))
	if err != nil || len(pages) < 20 {
		t.Fatalf("%d pages, %v", len(pages), err)
	}
	for _, page := range pages {
		data, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{".TH \"SHADERCACHE", ".SH NAME\n", ".SH SYNOPSIS\n", ".SH EXAMPLES\n"} {
			if !strings.Contains(string(data), part) {
				t.Errorf("%s has no %q", page, part)
			}
		}
		if groff, err := exec.LookPath("groff"); err == nil {
			out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
	preload, err := os.ReadFile(filepath.Join(dir, "shadercache-preload.1"))
	if err != nil || !strings.Contains(string(preload), "\n\\fB\\-D, \\-\\-define\\fR \\fINAME=VALUE\\fR\n") {
		t.Errorf("%v in\n%s", err, preload)
	}
}
