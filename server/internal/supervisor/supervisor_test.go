//go:build linux

package supervisor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/shadercache/shadercache/server/internal/supervisor"
)

// envWorker has this test binary run as a worker: a script of words, the last of which says
// how it ends.
const envWorker = "SHADERCACHE_SUPERVISOR_WORKER"

func TestMain(m *testing.M) {
	if script := os.Getenv(envWorker); script != "" {
		work(strings.Fields(script))
	}
	os.Exit(m.Run())
}

// work runs a script in a worker, which inherits one file, and the link after it.
func work(script []string) {
	link, err := supervisor.OpenLink(4)
	if err != nil {
		os.Exit(8)
	}
	for _, word := range script {
		switch word {
		case "ready":
			link.Ready("GPU of\na test")
		case "lost":
			link.Lost("the context\nis lost")
		case "idle":
			link.Idle()
		case "linger", "term":
			stop := make(chan os.Signal, 1)
			if word == "term" {
				signal.Notify(stop, syscall.SIGTERM)
			}
			go func() {
				link.Ended()
				os.Exit(9)
			}()
			<-stop
			os.Exit(0)
		case "answer":
			m, err := link.Receive()
			if err == nil {
				err = link.Send(supervisor.Message{Word: "got", Text: fmt.Sprint(m.Word, " ", len(m.Text), " ", m.File != nil)})
			}
			if err != nil {
				os.Exit(7)
			}
		case "deaf":
			signal.Ignore(syscall.SIGTERM)
		case "write":
			_, _ = os.NewFile(3, "inherited").WriteString("x")
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		default:
			code, _ := strconv.Atoi(word)
			os.Exit(code)
		}
	}
}

// supervised runs scripts, one for each generation; the last one repeats.
type supervised struct {
	t     *testing.T
	ready []string
	file  *os.File

	mu    sync.Mutex
	ended []string // what Command was given
	pids  []*exec.Cmd
}

// maxGenerations is more workers than any script has: with more, Run does not give up.
const maxGenerations = 7

func (s *supervised) command(scripts []string) func(uint64, string) (*exec.Cmd, error) {
	return func(generation uint64, ended string) (*exec.Cmd, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = append(s.ended, ended)
		if generation > maxGenerations {
			return nil, fmt.Errorf("%d workers were started", generation)
		}
		if generation != uint64(len(s.ended)) {
			s.t.Errorf("generation %d is number %d", generation, len(s.ended))
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = append(os.Environ(), envWorker+"="+scripts[min(int(generation), len(scripts))-1])
		s.pids = append(s.pids, cmd)
		return cmd, nil
	}
}

// run supervises scripts until Run returns.
func run(ctx context.Context, t *testing.T, o supervisor.Options, scripts ...string) (*supervised, error) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "inherited"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &supervised{t: t, file: file}
	o.Command, o.Files = s.command(scripts), []*os.File{file}
	ready := o.Ready
	o.Ready = func(text string) {
		s.ready = append(s.ready, text)
		if ready != nil {
			ready(text)
		}
	}
	err = supervisor.Run(ctx, o)
	if _, seek := file.Seek(0, io.SeekStart); seek != nil && !errors.Is(seek, os.ErrClosed) {
		t.Fatal(seek)
	}
	for _, cmd := range s.pids {
		if cmd.ProcessState == nil {
			t.Errorf("process %d was not waited for", cmd.Process.Pid)
		}
	}
	return s, err
}

// TestWorkersFollowEachOther has workers that end in every way. Each next one gets the
// reason.
func TestWorkersFollowEachOther(t *testing.T) {
	t.Parallel()
	s, err := run(t.Context(), t, supervisor.Options{},
		"ready write lost 1", "ready kill", "ready 3", "4", "ready 0", "ready lost linger", "ready write idle 0")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"", "the context is lost", "the worker was ended by signal 9 (killed)", "the worker ended: exit status 3", "the worker did not start: exit status 4",
		"the worker was asked to end by a signal", "the context is lost"}
	if fmt.Sprintf("%q", s.ended) != fmt.Sprintf("%q", want) {
		t.Errorf("ended: %q, want %q", s.ended, want)
	}
	if len(s.ready) != 1 || s.ready[0] != "GPU of a test" {
		t.Errorf("ready: %q", s.ready)
	}
	if written, err := os.ReadFile(s.file.Name()); err != nil || string(written) != "xx" {
		t.Errorf("the workers inherited another file: %q, %v", written, err)
	}
}

// TestTheFirstWorkerHasToServe ends where the first worker does not, and where several
// later ones do not.
func TestTheFirstWorkerHasToServe(t *testing.T) {
	t.Parallel()
	s, err := run(t.Context(), t, supervisor.Options{}, "5")
	if !errors.Is(err, supervisor.ErrWorker) || !strings.Contains(err.Error(), "exit status 5") || len(s.ended) != 1 {
		t.Errorf("after %d workers: %v", len(s.ended), err)
	}
	s, err = run(t.Context(), t, supervisor.Options{}, "ready 1", "6")
	if !errors.Is(err, supervisor.ErrWorker) || len(s.ended) != 6 {
		t.Errorf("after %d workers: %v", len(s.ended), err)
	}
}

// follower records its calls.
type follower struct{ events []string }

func (f *follower) Serves(l *supervisor.Link) {
	null, err := os.Open(os.DevNull)
	if err == nil {
		err = l.Send(supervisor.Message{Word: "file", Text: strings.Repeat("x", 5000), File: null})
		null.Close()
	}
	f.events = append(f.events, fmt.Sprint("serves ", err))
}
func (f *follower) Received(m supervisor.Message) { f.events = append(f.events, m.Word+" "+m.Text) }
func (f *follower) Ended(reason string)           { f.events = append(f.events, "ended "+reason) }

// TestFollower has a worker that answers a message, and one that loses its context: that it
// ends is known as soon as it reports it.
func TestFollower(t *testing.T) {
	t.Parallel()
	f := &follower{}
	if _, err := run(t.Context(), t, supervisor.Options{Follower: f}, "ready answer lost 1", "idle 0"); err != nil {
		t.Fatal(err)
	}
	want := []string{"serves <nil>", "got file 4096 true", "ended the context is lost", "ended the context is lost", "ended the worker was asked to end by a signal"}
	if strings.Join(f.events, "; ") != strings.Join(want, "; ") {
		t.Errorf("%q, want %q", f.events, want)
	}
}

// TestStop ends a worker that obeys SIGTERM, one that has to be killed, and the wait
// between two workers.
func TestStop(t *testing.T) {
	t.Parallel()
	for script, least := range map[string]time.Duration{"ready term": 0, "deaf ready linger": 300 * time.Millisecond} {
		ctx, stop := context.WithCancel(t.Context())
		start := time.Now()
		_, err := run(ctx, t, supervisor.Options{StopTime: 300 * time.Millisecond, Ready: func(string) {
			start = time.Now()
			time.AfterFunc(50*time.Millisecond, stop)
		}}, script)
		if took := time.Since(start); err != nil || took < least {
			t.Errorf("%s: %v after %v", script, err, took)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	s, err := run(ctx, t, supervisor.Options{Ready: func(string) { time.AfterFunc(time.Second, stop) }}, "ready 1", "1")
	if err != nil || len(s.ended) > 5 {
		t.Errorf("%d workers, %v", len(s.ended), err)
	}
}

// TestACommandThatCannotStart is an error of Run.
func TestACommandThatCannotStart(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, command := range []func(uint64, string) (*exec.Cmd, error){
		func(uint64, string) (*exec.Cmd, error) { return nil, broken },
		func(uint64, string) (*exec.Cmd, error) { return exec.Command("/nonexistent/worker"), nil },
	} {
		if err := supervisor.Run(t.Context(), supervisor.Options{Command: command}); err == nil || errors.Is(err, supervisor.ErrWorker) {
			t.Error(err)
		}
	}
}

// A supervisor that stops keeps no copy of a listening socket: clients would wait for its end.
func TestStopClosesFiles(t *testing.T) {
	t.Parallel()
	file, err := os.Create(filepath.Join(t.TempDir(), "inherited"))
	if err != nil {
		t.Fatal(err)
	}
	s := &supervised{t: t, file: file}
	ctx, stop := context.WithCancel(t.Context())
	err = supervisor.Run(ctx, supervisor.Options{
		Command: s.command([]string{"ready term"}), Files: []*os.File{file}, Ready: func(string) { stop() },
	})
	if closed := file.Close(); err != nil || !errors.Is(closed, os.ErrClosed) {
		t.Errorf("%v; closing the file again: %v", err, closed)
	}
}
