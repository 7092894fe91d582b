// Package servers starts real servers on loopback, for tests: nginx, a registry of OCI
// images, an S3 gateway. Each has a free port and a temporary folder of its own, and ends
// with the test, or with the test's process.
//
// Where a server is not installed the test is skipped, unless SHADERCACHE_REQUIRE_GL or CI
// is set.
package servers

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Timeouts. A busy machine needs seconds to start a process.
const (
	startTime = 30 * time.Second
	stopTime  = 5 * time.Second
)

// program returns the path of an installed program, or ends the test.
func program(t testing.TB, name, pkg string) string {
	t.Helper()
	for _, candidate := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(candidate); err == nil {
			return path
		}
	}
	missing(t, "%s is not installed (hint: scripts/deps servers, or apt-get install %s)", name, pkg)
	return ""
}

// missing skips the test, or fails it where everything has to be there.
func missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("SHADERCACHE_REQUIRE_GL") != "" || os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// loopback is an address of this process alone. On 127.0.0.1 another test's server could
// take a port before the server that is started for it.
var loopback = net.IPv4(127, byte(1+os.Getpid()>>16), byte(os.Getpid()>>8), byte(os.Getpid()))

// freeAddress returns an address of loopback where nothing listened a moment ago.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(loopback.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// run starts a server and waits until its address accepts connections. A shell stands
// between, which ends the server when its standard input ends: so no server outlives a test
// that crashes.
func run(t testing.TB, dir, address string, env []string, command ...string) {
	t.Helper()
	log := filepath.Join(dir, "server.log")
	output, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close()
	const guard = `exec 3<&0; "$@" 3<&- & pid=$!; { cat <&3 >/dev/null; kill -9 $pid; } & wait $pid`
	cmd := exec.Command("sh", append([]string{"-c", guard, "guard"}, command...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr, cmd.Dir = output, output, dir
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait() // the status is that of the signal
		close(ended)
	}()
	t.Cleanup(func() {
		input.Close()
		select {
		case <-ended:
		case <-time.After(stopTime):
			t.Errorf("%s does not end", command[0])
		}
	})
	if err := waitFor(address, ended); err != nil {
		text, _ := os.ReadFile(log)
		t.Fatalf("%s: %v\n%s", command[0], err, text)
	}
}

// waitFor returns when an address accepts connections, or its server has ended.
func waitFor(address string, ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ended:
			return errors.New("ended at once")
		case <-ctx.Done():
			return fmt.Errorf("does not listen on %s: %w", address, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// write writes a file of a server and returns its path.
func write(t testing.TB, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// folder makes a folder of a server and returns its path.
func folder(t testing.TB, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
