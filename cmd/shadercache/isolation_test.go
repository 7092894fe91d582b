package main

import (
	"context"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/internal/cli"
)

// fakeChild answers every program as a good child does, but dies of program 2
// and hangs on program 3.
const fakeChild = `
echo '{"ready":true}'
while read index; do
	case $index in
	2) kill -9 $$ ;;
	3) exec sleep 600 ;;
	esac
	echo '{"program":{"origin":"compiled"}}'
done`

// isolate runs an isolation over fake children and returns what became of each
// program, and the number of children.
func isolate(t *testing.T, script string, indices []int, jobs int, timeout time.Duration) (map[int]preloadLine, int, error) {
	t.Helper()
	got, started := map[int]preloadLine{}, make(chan struct{}, 1000)
	s := isolation{
		timeout: timeout,
		word:    strconv.Itoa,
		command: func() (*exec.Cmd, error) {
			started <- struct{}{}
			return exec.Command("sh", "-c", script), nil
		},
		done: func(index int, line preloadLine) {
			if _, again := got[index]; again {
				t.Errorf("program %d has two answers", index)
			}
			got[index] = line
		},
	}
	err := s.run(context.Background(), slices.Clone(indices), jobs)
	return got, len(started), err
}

func TestIsolationLosesOnlyWhatTheDriverDiedOf(t *testing.T) {
	for _, jobs := range []int{1, 3} {
		got, children, err := isolate(t, fakeChild, []int{0, 1, 2, 4, 5, 6}, jobs, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 6 || children <= 1 {
			t.Fatalf("%d jobs: %d answers from %d children", jobs, len(got), children)
		}
		for index, line := range got {
			if index == 2 {
				if !line.SetAside || !strings.Contains(line.Error, "killed") {
					t.Errorf("program 2 ended with %+v", line)
				}
			} else if line.Origin != "compiled" || line.SetAside || line.err != nil {
				t.Errorf("program %d ended with %+v", index, line)
			}
		}
	}
}

// A program has two tries.
func TestIsolationEndsAChildThatHangs(t *testing.T) {
	got, children, err := isolate(t, fakeChild, []int{3}, 1, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if !got[3].SetAside || !strings.Contains(got[3].Error, "longer than 50ms") || children != 2 {
		t.Errorf("%+v from %d children", got[3], children)
	}
}

func TestIsolationReportsAChildThatCannotStart(t *testing.T) {
	_, _, err := isolate(t, `echo '{"error":"no OpenGL","hint":"install it"}'`, []int{0, 1}, 2, time.Hour)
	if err == nil || err.Error() != "no OpenGL" || cli.HintFor(err) != "install it" {
		t.Errorf("%v, hint %q", err, cli.HintFor(err))
	}
	if _, _, err := isolate(t, `exit 3`, []int{0}, 1, time.Hour); err == nil || !strings.Contains(err.Error(), "start a child") {
		t.Errorf("a child that ends at once: %v", err)
	}
}

func TestIsolationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	answers := 0
	s := isolation{
		timeout: time.Hour,
		word:    strconv.Itoa,
		command: func() (*exec.Cmd, error) { return exec.Command("sh", "-c", fakeChild), nil },
		done:    func(int, preloadLine) { answers++; cancel() },
	}
	if err := s.run(ctx, []int{0, 1, 4}, 1); err == nil || answers != 1 {
		t.Errorf("%d answers after the end: %v", answers, err)
	}
}
