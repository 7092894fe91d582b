package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type testOutcome struct {
	Name string `json:"name"`
	bad  error
}

func (r testOutcome) Print(w io.Writer) { fmt.Fprintf(w, "name\t%s\nlonger name\tx\n", r.Name) }
func (r testOutcome) Verdict() error    { return r.bad }

func TestShow(t *testing.T) {
	failed, bad := errors.New("failed"), errors.New("bad")
	for name, c := range map[string]struct {
		json bool
		err  error
		bad  error
		text string
	}{
		"table":   {text: "name         a\nlonger name  x\n"},
		"json":    {json: true, text: "{\n  \"name\": \"a\"\n}\n"},
		"verdict": {json: true, bad: bad, text: "{\n  \"name\": \"a\"\n}\n"},
		"error":   {err: failed},
	} {
		var out strings.Builder
		o := Options{JSON: c.json, Stdout: &out}
		err := o.Show(testOutcome{"a", c.bad}, c.err)
		if want := errors.Join(c.err, c.bad); out.String() != c.text || (err == nil) != (want == nil) {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
	o := Options{JSON: true, Stdout: &Output{Writer: failingWriter{}}}
	if err := o.Result(json.RawMessage("1"), nil); err == nil {
		t.Error("a result that could not be written is no error")
	}
	if out := o.Stdout.(*Output); out.Err == nil || !strings.Contains(out.Err.Error(), "standard output: full") {
		t.Errorf("%v", out.Err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestLogger(t *testing.T) {
	var out strings.Builder
	o := Options{Stderr: &out, LogLevel: LogLevel(slog.LevelInfo)}
	log := o.Logger().With("driver", "Mesa").WithGroup("group")
	log.Debug("not written")
	log.Warn("left out", "file", "a\nb", "reason", errors.New("damaged"))
	log.Info("info")
	log.Error("error")
	const want = "shadercache: warning: left out (driver Mesa, file a\n  b): damaged\nshadercache: info: info (driver Mesa)\nshadercache: error: error (driver Mesa)\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
	if levelWord(slog.LevelDebug) != "debug" {
		t.Error(levelWord(slog.LevelDebug))
	}
}

func TestMakeFolder(t *testing.T) {
	dir := t.TempDir()
	if err := MakeFolder(filepath.Join(dir, "a", "b")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := MakeFolder(filepath.Join(file, "b")); err == nil || HintFor(err) == "" {
		t.Errorf("%v", err)
	}
}

// Standard error is no terminal here.
func TestProgressIsInvisible(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Stderr: write}
	bar := o.NewProgress(2, "working")
	if err := errors.Join(bar.Add(1), bar.Finish(), write.Close()); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(read); err != nil || len(text) > 0 {
		t.Errorf("%q, %v", text, err)
	}
}
