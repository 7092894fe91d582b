package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../../.."

// Every table of the page has the figures of its log, and so has every sentence that
// states one.
func TestThePageHasTheFiguresOfTheLogs(t *testing.T) {
	if err := run(root, true); err != nil {
		t.Error(err)
	}
}

// A changed log, and a figure changed by hand, are errors.
func TestDifferencesAreErrors(t *testing.T) {
	for name, change := range map[string]struct{ file, from, to, want string }{
		"a figure in a log":       {"docs/logs/h200/startup.json", `"total_ms": 37.797`, `"total_ms": 137.797`, "differs from its logs"},
		"a figure in a table":     {page, "| both | 0.476 |", "| both | 0.376 |", "differs from its logs"},
		"a figure in a sentence":  {page, "37.1 times as fast", "73.1 times as fast", "does not contain: Both layers are 37.1 times"},
		"a figure in the README":  {readme, "both 26 ms", "both 16 ms", "README.md does not contain"},
		"a bar in a picture":      {"docs/startup-h200.svg", ">879 ms<", ">779 ms<", "docs/startup-h200.svg differs from its logs"},
		"a table without a place": {page, "<!-- steal -->\n", "", `not one place for the table "steal"`},
		"a place without a table": {page, "<!-- steal -->\n", "<!-- end -->\n<!-- steal -->\n", "places for"},
		"a log that is damaged":   {"docs/logs/h200/steal.json", "{", "", "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t)
			path := filepath.Join(dir, change.file)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Replace(string(data), change.from, change.to, 1)
			if text == string(data) {
				t.Fatalf("%s has no %q", change.file, change.from)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := run(dir, true); err == nil || !strings.Contains(err.Error(), change.want) {
				t.Errorf("got %v, want %q in it", err, change.want)
			}
		})
	}
}

// A figure that was changed by hand is rewritten, and a missing picture is written.
func TestRunWritesThePage(t *testing.T) {
	dir := copied(t)
	picture := filepath.Join(dir, "docs", "startup-llvmpipe.svg")
	if err := os.Remove(picture); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, page)
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(want), "| both | 0.476 |", "| both | 0.376 |", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, false); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("the page was not rewritten, %v", err)
	}
	if data, err := os.ReadFile(picture); err != nil || !strings.HasSuffix(string(data), "</svg>\n") {
		t.Errorf("the picture was not written, %v", err)
	}
}

// copied returns a directory with a copy of the page, the README and the logs.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "docs", "bench"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "docs", "logs"), os.DirFS(filepath.Join(root, "docs", "logs"))); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{page, readme, "docs/bench/conv-h200.md", "docs/startup-h200.svg", "docs/startup-llvmpipe.svg"} {
		data, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestShortName(t *testing.T) {
	for want, params := range map[string]map[string]int{
		"gemm_block 128x128x8, split 4, A packed": {"bm": 128, "bn": 128, "bk": 8, "split": 4, "pack_a": 1, "pack_b": 0, "tm": 8},
		"implicit 64x96x32, 4 slices":             {"bm": 64, "bn": 96, "bk": 32, "slices": 4, "split": 1},
		"gemm_row, split 9":                       {"split": 9, "fused": 0},
		"gemm_row, 16 slices, split 8 fused":      {"split": 8, "fused": 8, "slices": 16},
		"gemm_row, 32 slices":                     {"split": 1, "fused": 8, "slices": 32},
	} {
		algorithm, _, _ := strings.Cut(strings.ReplaceAll(want, ",", " "), " ")
		if got := shortName(algorithm, params); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
