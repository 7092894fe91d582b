package isolate

import (
	"context"
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/job"
	"github.com/shadercache/shadercache/shader"
)

// fakeChild answers every program, but dies of program 2 and hangs on program 3.
const fakeChild = `
read limits
echo '{"ready":true}' >&3
while read index; do
	case $index in
	2) kill -9 $$ ;;
	3) exec sleep 600 ;;
	esac
	echo '{"programs":[{"origin":"compiled"}]}' >&3
done`

func shell(script string) func() (*exec.Cmd, error) {
	return func() (*exec.Cmd, error) { return exec.Command("sh", "-c", script), nil }
}

// runShell runs requests with children that are shell scripts. It returns the results
// by request, and the number of children that were started.
func runShell(t *testing.T, script string, requests []int, jobs int, timeout time.Duration) (map[int]Result, int, error) {
	t.Helper()
	started := make(chan struct{}, 1000)
	p := Pool{Jobs: jobs, Timeout: timeout, Command: func() (*exec.Cmd, error) {
		started <- struct{}{}
		return shell(script)()
	}}
	var lines []string
	for _, r := range requests {
		lines = append(lines, strconv.Itoa(r))
	}
	got := map[int]Result{}
	_, err := p.Run(context.Background(), lines, func(r Result) {
		if _, again := got[requests[r.Index]]; again {
			t.Errorf("request %d has two results", requests[r.Index])
		}
		got[requests[r.Index]] = r
	})
	return got, len(started), err
}

func TestACrashCostsOneProgram(t *testing.T) {
	for _, jobs := range []int{1, 3} {
		got, children, err := runShell(t, fakeChild, []int{0, 1, 2, 4, 5, 6}, jobs, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 6 || children <= 1 {
			t.Fatalf("%d jobs: %d results from %d children", jobs, len(got), children)
		}
		for request, r := range got {
			if request == 2 {
				if lost, ok := errors.AsType[*LostError](r.Err); !ok || r.Quarantined || lost.Signal != "SIGKILL: killed" || lost.Crashed() || lost.TimedOut {
					t.Errorf("program 2 ended with %+v", r)
				}
			} else if r.Origin != job.Compiled || r.Quarantined || r.Err != nil {
				t.Errorf("program %d ended with %+v", request, r)
			}
		}
	}
}

// A program that hangs has one try.
func TestAChildThatHangsIsKilled(t *testing.T) {
	got, children, err := runShell(t, fakeChild, []int{3}, 1, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if lost, ok := errors.AsType[*LostError](got[3].Err); !ok || !lost.TimedOut || !strings.Contains(lost.Error(), "longer than 50ms") || children != 1 {
		t.Errorf("%+v from %d children", got[3], children)
	}
}

func TestAChildThatCannotStart(t *testing.T) {
	_, _, err := runShell(t, `echo '{"error":"no OpenGL","hint":"install it"}' >&3`, []int{0, 1}, 2, time.Hour)
	if start, ok := errors.AsType[*StartError](err); !ok || err.Error() != "no OpenGL" || start.Hint != "install it" {
		t.Errorf("%v", err)
	}
	if _, _, err := runShell(t, `exit 3`, []int{0}, 1, time.Hour); err == nil || !strings.Contains(err.Error(), "start a child") {
		t.Errorf("a child that ends at once: %v", err)
	}
	p := Pool{Command: func() (*exec.Cmd, error) { return nil, errors.New("no command") }}
	if _, err := p.Run(context.Background(), []string{"0"}, nil); !errors.Is(err, ErrNoProcess) || !strings.Contains(err.Error(), "no command") {
		t.Errorf("without a command: %v", err)
	}
}

// What is no answer ends the child, and its program is tried twice like one that the
// child died of.
func TestAChildThatAnswersWithNonsense(t *testing.T) {
	got, children, err := runShell(t, `exec >&3; read limits; echo '{"ready":true}'; while read index; do echo '{"ready":true}'; done`, []int{0}, 1, time.Hour)
	if err != nil || children != 2 || !strings.Contains(got[0].Err.Error(), "did not answer") {
		t.Errorf("%+v from %d children, %v", got, children, err)
	}
}

func TestAChildThatEndsWithAnError(t *testing.T) {
	got, _, err := runShell(t, `exec >&3; read limits; echo '{"ready":true}'; read index; echo '{"programs":[{"error":"no main"}]}'; read index; exit 3`, []int{0}, 1, time.Hour)
	if err == nil || !strings.Contains(err.Error(), "end a child") {
		t.Errorf("%v", err)
	}
	if r := got[0]; !errors.As(r.Err, new(*ProgramError)) || r.Err.Error() != "no main" || r.Quarantined {
		t.Errorf("%+v", r)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := Pool{Jobs: 1, Timeout: time.Hour, Command: shell(fakeChild)}
	results := 0
	report, err := p.Run(ctx, []string{"0", "1", "4"}, func(Result) { results++; cancel() })
	if !errors.Is(err, context.Canceled) || results != 1 {
		t.Errorf("%d results after the end: %v", results, err)
	}
	if len(report.Children) != 1 || report.Answered.IsZero() || report.Ended.Before(report.Answered) || !report.Merged.IsZero() {
		t.Errorf("%+v", report)
	}
}

func TestNothingToCompileStartsNothing(t *testing.T) {
	if got, children, err := runShell(t, fakeChild, nil, 4, time.Hour); err != nil || children != 0 || len(got) != 0 {
		t.Errorf("%+v from %d children, %v", got, children, err)
	}
}

func TestSourcesTravelWhole(t *testing.T) {
	source := shader.MustSource("two\nlines", "void main() {\n}\n", shader.Defines{"TILE": "32"})
	request := encodeSource(source)
	if strings.Contains(request, "\n") {
		t.Errorf("%q is no line", request)
	}
	got, err := decodeSource(request)
	if err != nil || got.Key() != source.Key() || got.Name() != source.Name() || got.Text() != source.Text() || len(got.Files()) != len(source.Files()) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := decodeSource("conv2d_3x3"); err == nil {
		t.Error("what is no source was decoded")
	}
}
