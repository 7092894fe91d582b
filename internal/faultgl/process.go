//go:build unix

package faultgl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// processVariable names the work of a process that a test started, and the second one its
// cache directory.
const (
	processVariable   = "SHADERCACHE_TEST_PROCESS"
	directoryVariable = "SHADERCACHE_TEST_PROCESS_DIR"
)

// Counters are those of the cache of a process.
type Counters struct {
	Compiles     uint64
	DiskHits     uint64
	WrongAnswers uint64
}

// OnProcess runs work and ends the process, in a process that Run started for name. It is
// called from an init function.
func OnProcess(name string, work func(dir string) (Counters, error)) {
	if os.Getenv(processVariable) != name {
		return
	}
	counters, err := work(os.Getenv(directoryVariable))
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(counters)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Run starts the test's executable for the work of a name, with a cache directory and more
// variables. A process that fails ends the test.
func Run(t testing.TB, name, dir string, environment ...string) (c Counters) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), append(environment, processVariable+"="+name, directoryVariable+"="+dir)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &c)
	}
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", name, err, out, &stderr)
	}
	return c
}

// TestKnownAnswers runs work four times in one directory: it fills it, finds that the
// binaries of the n programs whose source contains a text compute wrong and compiles these,
// finds that none does, and does not check again. The work itself has to fail on wrong
// results.
func TestKnownAnswers(t *testing.T, name, source string, n uint64) {
	t.Helper()
	wrong := Environment(t, Fault{Mode: Wrong, At: "glProgramBinary", Source: source})
	dir := t.TempDir()
	all := Run(t, name, dir, wrong...).Compiles
	for _, step := range []struct {
		what        string
		environment []string
		want        Counters
	}{
		{"with wrong binaries", wrong, Counters{Compiles: n, WrongAnswers: n}},
		{"with good binaries", nil, Counters{DiskHits: all}},
		{"checked before", nil, Counters{DiskHits: all}},
	} {
		got := Run(t, name, dir, step.environment...)
		if got.Compiles > 0 {
			got.DiskHits = 0 // programs that are checked together count as found first
		}
		if got != step.want {
			t.Errorf("%s, %s: %+v, should be %+v", name, step.what, got, step.want)
		}
	}
}
