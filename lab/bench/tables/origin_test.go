package tables

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// older are the logs that do not say where they come from, with what git proves: the
// commit that added them, which is not older than what they measured.
func older(t *testing.T, logs string) map[string]struct{ SHA256, Commit, Committed string } {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(logs, "older.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list map[string]struct{ SHA256, Commit, Committed string }
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

// Every log has the date and the revision of what it measured, unless it is listed, with
// its checksum, among the older ones.
func TestEveryLogHasAnOrigin(t *testing.T) {
	logs := filepath.Join(root, "docs", "logs")
	known := older(t, logs)
	files, err := filepath.Glob(filepath.Join(logs, "*", "*"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d logs, %v", len(files), err)
	}
	for _, file := range files {
		name, err := filepath.Rel(logs, file)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		entry, listed := known[filepath.ToSlash(name)]
		delete(known, filepath.ToSlash(name))
		switch own := hasOrigin(name, data); {
		case listed && own:
			t.Errorf("%s has an origin: remove it from older.json", name)
		case listed && entry.SHA256 != hex.EncodeToString(sum[:]):
			t.Errorf("%s was made anew and has no origin: make it with scripts/measure, and with a command that knows its revision", name)
		case listed && (entry.Commit == "" || entry.Committed == ""):
			t.Errorf("older.json has no commit of %s", name)
		case !listed && !own:
			t.Errorf("%s has no origin, with a date and a revision", name)
		}
	}
	for name := range known {
		t.Errorf("%s is in older.json and does not exist", name)
	}
}

// hasOrigin reports whether a log says when it was made, and from what revision.
func hasOrigin(name string, data []byte) bool {
	if filepath.Ext(name) != ".json" {
		first, _, _ := strings.Cut(string(data), "\n")
		return strings.Contains(first, "revision ") && !strings.Contains(first, "unknown revision")
	}
	var log struct {
		Origin json.RawMessage `json:"origin"`
	}
	var origin struct{ Date, Revision string }
	return json.Unmarshal(data, &log) == nil && json.Unmarshal(log.Origin, &origin) == nil &&
		origin.Date != "" && origin.Revision != "" && origin.Revision != "unknown revision"
}

// A text without a revision, and JSON without a known one, have no origin.
func TestHasOrigin(t *testing.T) {
	for text, want := range map[string]bool{
		`{"origin": {"date": "2026-11-22", "revision": "54eafa0"}}`:          true,
		`{"origin": {"date": "2026-11-22", "revision": "unknown revision"}}`: false,
		`{"origin": {"revision": "54eafa0"}}`:                                false,
		`{"origin": "disk"}`:                                                 false,
		`{}`:                                                                 false,
	} {
		if hasOrigin("a.json", []byte(text)) != want {
			t.Errorf("%s: not %t", text, want)
		}
	}
	if !hasOrigin("a.txt", []byte("# H200; revision 54eafa0\nBenchmark")) || hasOrigin("a.txt", []byte("Benchmark\nrevision 1")) {
		t.Error("a text")
	}
}
