package main

import (
	"os"
	"path/filepath"
	"regexp"
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
		"a figure in a log":           {"docs/logs/h200/startup.json", `"total_ms": [0-9]`, `"total_ms": 99`, "differs from its logs"},
		"a figure in a table":         {page, `\| both \| [0-9]`, "| both | 99", "docs/measurements.md differs from its logs"},
		"a figure in a sentence":      {page, `Both layers are [0-9]`, "Both layers are 99", "does not contain: Both layers are "},
		"a figure in the README":      {readme, `both [0-9]+ ms`, "both 999999 ms", "README.md does not contain"},
		"a bar in a picture":          {"docs/startup-h200.svg", `>[0-9]+ ms<`, ">999999 ms<", "docs/startup-h200.svg differs from its logs"},
		"a table without a place":     {page, "<!-- steal -->\n", "", `not one place for the table "steal"`},
		"a place without a table":     {page, "<!-- steal -->\n", "<!-- end -->\n<!-- steal -->\n", "places for"},
		"a log that is damaged":       {"docs/logs/h200/steal.json", "{", "", "invalid character"},
		"a figure of the limits":      {limitsPage, `\*\*[0-9]`, "**99", "docs/bench/limits.md differs from its logs"},
		"a limit that says not why":   {limitsPage, `- \*\*SGEMM 2048`, "- **SGEMM", "does not say, with a link, why these are missed:\nSGEMM 2048; 4096; 8192, of cuBLAS"},
		"a figure of the driver":      {limitsPage, `polls it, take [0-9]`, "polls it, take 99", "does not contain: and the host that polls it"},
		"a bar that is changed":       {barsFile, `"at_most": 25}`, `"at_most": 24}`, "docs/bench/limits.md differs from its logs"},
		"a log of the limits":         {"docs/logs/h200/executor-soak.json", `"stall_ratio": [0-9]`, `"stall_ratio": 9`, "docs/bench/limits.md differs from its logs"},
		"a call that is not in a log": {"docs/logs/h200/driver-calls.txt", "ticks depth 3, word", "ticks depth 3, words", "driver-calls.txt has no ticks depth 3, word"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := copied(t)
			changed(t, filepath.Join(dir, change.file), change.from, change.to)
			if err := run(dir, true); err == nil || !strings.Contains(err.Error(), change.want) {
				t.Errorf("got %v, want %q in it", err, change.want)
			}
		})
	}
}

// changed replaces the first match of a pattern in a file.
func changed(t *testing.T, path, from, to string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(from).FindIndex(data)
	if at == nil {
		t.Fatalf("%s has no %q", path, from)
	}
	if err := os.WriteFile(path, []byte(string(data[:at[0]])+to+string(data[at[1]:])), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A changed figure is written into a sentence that lines break; one that is there twice, or
// not at all, is left.
func TestRestated(t *testing.T) {
	const text = "First words. The list\nhas 1,402 ms, so 37.1\ntimes (2e-07) or 5%.\nMore words.\n"
	got, found := newClaim("", "The list has %s ms, so %.1f times (%.0e) or %.0f%%.", "12", 3.14, 3e-8, 60.0).restated(text)
	if want := "First words. The list\nhas 12 ms, so 3.1\ntimes (3e-08) or 60%.\nMore words.\n"; !found || got != want {
		t.Errorf("%t, %q", found, got)
	}
	for _, format := range []string{"The lists have %s ms", "words. "} {
		if got, found := newClaim("", format, "1").restated(text + text); found || got != text+text {
			t.Errorf("%q: %t", format, found)
		}
	}
}

// Figures that were changed by hand are rewritten, in tables and in sentences, and a missing picture is written.
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
	changed(t, path, `\| both \| [0-9]`, "| both | 9")
	changed(t, path, `Both layers are [0-9]`, "Both layers are 9")
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
	for _, file := range []string{page, readme, limitsPage, barsFile, "docs/bench/conv-h200.md", "docs/startup-h200.svg", "docs/startup-llvmpipe.svg"} {
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
