package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/shadercache/shadercache/trace"
)

// The trace of a command leaves no gap between the start of its process and the command.
func TestTracesOfCommandsBeginWithTheProcess(t *testing.T) {
	// A process has one trace, also when the test runs twice.
	path := filepath.Join(os.TempDir(), fmt.Sprintf("shadercache-trace-%d.json", os.Getpid()))
	t.Cleanup(func() { os.Remove(path) })
	o := &Options{Trace: path}
	o.startTrace(&cobra.Command{Use: "command"})
	o.EndTrace()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, err := trace.ReadChrome(f)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, e := range r.Events {
		if names = append(names, e.Name); i == 0 {
			continue
		}
		// Files have whole microseconds.
		if gap := e.Begin.Sub(r.Events[i-1].End()); e.Name == trace.Packages && gap.Abs() > 2*time.Microsecond {
			t.Errorf("%v lie between %s and %s", gap, names[i-1], e.Name)
		}
	}
	// The system tells hundredths of a second: the start may be shorter than that.
	if want := []string{trace.Start, trace.Packages, trace.Command}; len(names) < 2 || !slices.Equal(names, want[3-len(names):]) {
		t.Errorf("events %q, want %q", names, want)
	}
}
