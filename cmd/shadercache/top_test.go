package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/cmd/internal/top"
)

// TestTop shows a directory to a pipe, and to programs.
func TestTop(t *testing.T) {
	dir := t.TempDir()
	if store := fakeStore(t, dir); store == nil {
		t.Fatal("no store")
	}
	run := func(args ...string) (stdout string, err error) {
		cmd := clitest.SelfAs(t, "shadercache", append([]string{"top", "--dir", dir}, args...)...)
		out, err := cmd.Output()
		return string(out), err
	}
	text, err := run()
	if err != nil || strings.Contains(text, "\x1b") || strings.Count(text, "shadercache  ") != 1 || !strings.Contains(text, "COMPILED") {
		t.Errorf("to a pipe, once and without control characters: %v\n%q", err, text)
	}
	text, err = run("--json", "--count", "2", "--interval", "50ms")
	if err != nil {
		t.Fatal(err)
	}
	decoder, pictures := json.NewDecoder(bytes.NewReader([]byte(text))), 0
	for {
		var s top.Snapshot
		if err := decoder.Decode(&s); errors.Is(err, io.EOF) {
			break
		} else if err != nil || s.Dir != dir || s.Time.IsZero() {
			t.Fatalf("%v: %+v", err, s)
		}
		pictures++
	}
	if pictures != 2 {
		t.Errorf("%d pictures", pictures)
	}
	if _, err := run("--interval", "1ms"); err == nil {
		t.Error("an interval of 1 ms is taken")
	}
	_, err = clitest.SelfAs(t, "shadercache", "top", "--dir", dir+"/none").Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); !ok || !bytes.Contains(failed.Stderr, []byte("there is no cache in")) {
		t.Errorf("without a directory: %v", err)
	}
}
