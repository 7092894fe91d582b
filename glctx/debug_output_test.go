//go:build linux && cgo

package glctx

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/go-gl/gl/v4.5-core/gl"
)

// TestDebugOutputNeedsDebugLevel inserts a debug message.
func TestDebugOutputNeedsDebugLevel(t *testing.T) {
	ManageDriverCache(Options{}) // for the whole process: not a directory of this test
	for _, c := range []struct {
		level  slog.Level
		logged bool
	}{
		{slog.LevelDebug, true},
		{slog.LevelInfo, false},
	} {
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: c.level}))
		context, err := Open(Options{Logger: logger})
		if err != nil {
			if os.Getenv("SHADERCACHE_REQUIRE_GL") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
		err = context.Do(func(calls *GL) error {
			if (calls.c.debug != nil) != c.logged {
				t.Errorf("at level %v there is a sink: %v", c.level, calls.c.debug != nil)
			}
			gl.DebugMessageInsert(gl.DEBUG_SOURCE_APPLICATION, gl.DEBUG_TYPE_MARKER, 7,
				gl.DEBUG_SEVERITY_HIGH, -1, gl.Str("copied from video memory\x00"))
			calls.Finish()
			return calls.Err()
		})
		if err != nil {
			t.Error(err)
		}
		if err := context.Close(); err != nil {
			t.Error(err)
		}
		if got := strings.Contains(log.String(), "copied from video memory"); got != c.logged {
			t.Errorf("at level %v the log is %q", c.level, log.String())
		}
	}
}
