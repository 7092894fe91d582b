package peers

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A peer gets the shapes as its arguments, and what it prints is read as a file is.
func TestMeasureAndRead(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "peer")
	text := "#!/bin/sh\n[ $# = 2 ] || exit 3\nprintf '{\"%s\": {\"peer\": \"p\", \"ms\": 1.5, \"least_ms\": 1}}' \"$2\"\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	times, err := Measure(context.Background(), script+" first", []string{"gemm:1x2x3"}, nil)
	if want := (Time{Peer: "p", Millis: 1.5, Least: 1}); err != nil || times["gemm:1x2x3"] != want {
		t.Errorf("got %+v, %v", times, err)
	}
	for command, want := range map[string]string{
		" ": "empty", script: "exit status 3", "echo 5": "a peer's times are", filepath.Join(dir, "none"): "no such file",
	} {
		if _, err := Measure(context.Background(), command, []string{"gemm:1x2x3"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not contain %q", command, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Measure(ctx, script, []string{"gemm:1x2x3"}, nil); err != context.Canceled {
		t.Errorf("after an interrupt: %v", err)
	}
	file := filepath.Join(dir, "peers.json")
	if err := os.WriteFile(file, []byte(`{"gemm:1x2x3": {"peer": "q", "ms": 2}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if times, err := Read(file); err != nil || times["gemm:1x2x3"].Peer != "q" {
		t.Errorf("got %+v, %v", times, err)
	}
	if times, err := Read(""); err != nil || times != nil {
		t.Errorf("no file gives %+v, %v", times, err)
	}
	if _, err := Read(file + "x"); err == nil {
		t.Error("a missing file is no error")
	}
}
