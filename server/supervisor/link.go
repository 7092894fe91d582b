//go:build linux

package supervisor

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The words that a worker says, each at the start of a line.
const (
	wordReady = "ready" // it serves
	wordLost  = "lost"  // its context is lost: it ends
)

// line is one line of a worker.
type line struct{ word, text string }

// Link is a worker's end of the connection with its supervisor.
type Link struct{ f *os.File }

// newLink returns the two ends of a link.
func newLink() (supervisor, worker *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "worker"), nil
}

// OpenLink returns the link at a descriptor that the worker inherited.
func OpenLink(fd uintptr) *Link {
	unix.CloseOnExec(int(fd))
	_ = unix.SetNonblock(int(fd), true)
	return &Link{os.NewFile(fd, "link")}
}

// Ready tells the supervisor that the worker serves.
func (l *Link) Ready(text string) { l.say(wordReady, text) }

// Lost tells the supervisor why the worker will end.
func (l *Link) Lost(reason string) { l.say(wordLost, reason) }

func (l *Link) say(word, text string) {
	// Without a supervisor there is no reader, and nothing to do about it.
	_, _ = fmt.Fprintf(l.f, "%s %s\n", word, strings.ReplaceAll(text, "\n", " "))
}

// Ended waits until the supervisor has ended. The worker has to end then.
func (l *Link) Ended() {
	_, _ = l.f.Read(make([]byte, 1)) // a supervisor says nothing
}

// readLines passes on what a worker says, and closes both.
func readLines(f *os.File, lines chan<- line) {
	defer close(lines)
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		word, text, _ := strings.Cut(s.Text(), " ")
		lines <- line{word, text}
	}
}
