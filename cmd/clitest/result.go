package clitest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/glctx/gltest"
)

// Options returns the global flags of a run of a benchmark with an empty cache directory that
// is removed. A message of the run is an error. Where there is no driver the test is skipped.
func Options(t *testing.T) *cli.Options {
	t.Helper()
	gltest.Open(t)
	var messages bytes.Buffer
	t.Cleanup(func() {
		if messages.Len() > 0 {
			t.Errorf("messages: %s", messages.String())
		}
	})
	return &cli.Options{Dir: t.TempDir(), Stderr: &messages, LogLevel: 4}
}

// Print checks that a result has no fault, that it can be encoded as JSON, and that its
// text has every part.
func Print(t *testing.T, r cli.Outcome, parts ...string) {
	t.Helper()
	if err := r.Verdict(); err != nil {
		t.Error(err)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	r.Print(&text)
	for _, part := range parts {
		if !strings.Contains(text.String(), part) {
			t.Errorf("there is no %q in\n%s", part, text.String())
		}
	}
}
