package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/cmd/clitest"
)

// TestTopOnATerminal shows pictures over one another.
func TestTopOnATerminal(t *testing.T) {
	dir := t.TempDir()
	fakeStore(t, dir)
	terminal, screen := openTerminal(t)
	cmd := clitest.SelfAs(t, "shadercache", "top", "--dir", dir, "--count", "2", "--interval", "50ms")
	cmd.Stdout = screen
	err := cmd.Start()
	_ = screen.Close()
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := io.ReadAll(terminal) // its end is an error: no process has the other side
	text := string(shown)
	if err := cmd.Wait(); err != nil || !strings.HasPrefix(text, enterScreen) || strings.Count(text, home) != 2 || !strings.HasSuffix(text, leaveScreen) {
		t.Errorf("%v\n%q", err, text)
	}
}

// openTerminal returns both sides of a terminal.
func openTerminal(t *testing.T) (terminal, screen *os.File) {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return terminal, screen
}
