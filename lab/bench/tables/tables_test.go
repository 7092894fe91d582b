package tables

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../.."

var update = flag.Bool("update", false, "write the tables and the pictures of the logs")

// Every table of a page has the figures of its log, and so has every sentence that states
// one.
func TestPagesHaveTheFiguresOfTheLogs(t *testing.T) {
	if *update {
		files, _, err := expected(root)
		if err != nil {
			t.Fatal(err)
		}
		for file, text := range files {
			if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := check(root); err != nil {
		t.Error(err)
	}
}

// A changed log, and a figure changed by hand, are errors.
func TestDifferencesAreErrors(t *testing.T) {
	for name, change := range map[string]struct{ file, from, to, want string }{
		"a figure in a log":           {"docs/logs/h200/startup.json", `"total_ms": [0-9]`, `"total_ms": 99`, "differs from its logs"},
		"a figure in a table":         {page, `\| both \| [0-9]`, "| both | 99", "docs/measurements.md differs from its logs"},
		"a figure in a sentence":      {page, `both layers are [0-9]`, "both layers are 99", "does not contain: both layers are "},
		"a figure in the README":      {readme, `both [0-9]+ ms`, "both 999999 ms", "README.md does not contain"},
		"a bar in a picture":          {"docs/startup-h200.svg", `>[0-9]+ ms<`, ">999999 ms<", "docs/startup-h200.svg differs from its logs"},
		"a table without a place":     {page, "<!-- store -->\n", "", `not one place for the table "store"`},
		"a place without a table":     {page, "<!-- store -->\n", "<!-- end -->\n<!-- store -->\n", "places for"},
		"a log that is damaged":       {"docs/logs/h200/run1.json", "{", "", "invalid character"},
		"a figure of a kernel":        {kernelsPage, `lowest of the products\s+is [0-9]`, "lowest of the products is 9", "docs/bench/kernels.md does not contain"},
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
			if err := check(dir); err == nil || !strings.Contains(err.Error(), change.want) {
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

// copied returns a directory with a copy of the pages that have tables, and the logs.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "docs", "bench"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "docs", "logs"), os.DirFS(filepath.Join(root, "docs", "logs"))); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{page, readme, kernelsPage, residentPage, "docs/recording.md", "docs/together.md", limitsPage, barsFile, "docs/startup-h200.svg", "docs/startup-llvmpipe.svg"} {
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
