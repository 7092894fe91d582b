//go:build linux

package supervisor

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/socket"
)

// The words of a worker that [Run] understands.
const (
	wordReady = "ready" // it serves
	wordLost  = "lost"  // its context is lost: it ends
	wordIdle  = "idle"  // it had nothing to do for its time of idle exit: it ends
)

// Message is what one end of a link sends to the other.
type Message struct {
	Word string   // what it is about, without a space
	Text string   // up to maxText bytes
	File *os.File // that goes with it, or nil. The receiver closes it
}

const (
	maxText  = 4 << 10         // of a message: longer ones are cut
	sendTime = 5 * time.Second // after which an end that reads nothing is given up
)

// Link is one end of the connection of a supervisor with its worker. Send may be called from
// any goroutine, Receive from one at a time.
type Link struct{ conn *net.UnixConn }

// newLink returns the supervisor's end of a link, and the worker's for it to inherit.
func newLink() (supervisor *Link, worker *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	worker = os.NewFile(uintptr(fds[1]), "worker")
	supervisor, err = linkOf(os.NewFile(uintptr(fds[0]), "supervisor"))
	if err != nil {
		worker.Close()
	}
	return supervisor, worker, err
}

// OpenLink returns the link at a descriptor that the worker inherited.
func OpenLink(fd uintptr) (*Link, error) { return linkOf(os.NewFile(fd, "link")) }

// linkOf returns the link over a socket, which it closes: the link has a copy.
func linkOf(f *os.File) (*Link, error) {
	conn, err := socket.ConnOf(f)
	if err != nil {
		return nil, fmt.Errorf("the link with the supervisor: %w", err)
	}
	return &Link{conn}, nil
}

// Ready tells the supervisor that the worker serves.
func (l *Link) Ready(text string) { l.say(wordReady, text) }

// Lost tells the supervisor why the worker will end.
func (l *Link) Lost(reason string) { l.say(wordLost, reason) }

// Idle tells the supervisor that the worker ends as it has nothing to do.
func (l *Link) Idle() { l.say(wordIdle, "") }

func (l *Link) say(word, text string) {
	// Without a supervisor there is no reader, and nothing to do about it.
	_ = l.Send(Message{Word: word, Text: strings.ReplaceAll(text, "\n", " ")})
}

// Send sends a message with a copy of its file. It fails where the other end has ended, or
// reads nothing for 5 s.
func (l *Link) Send(m Message) error {
	var rights []byte
	if m.File != nil {
		rights = unix.UnixRights(int(m.File.Fd()))
	}
	if err := l.conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	_, _, err := l.conn.WriteMsgUnix([]byte(m.Word+" "+m.Text[:min(len(m.Text), maxText)]), rights, nil)
	return err
}

// Receive waits for a message, which has no file where this process can have no more of them. It returns
// an error when the other end has ended.
func (l *Link) Receive() (Message, error) {
	packet, oob := make([]byte, maxText+64), make([]byte, unix.CmsgSpace(4))
	n, oobn, flags, _, err := l.conn.ReadMsgUnix(packet, oob)
	switch {
	case err != nil:
		return Message{}, err
	case n == 0:
		return Message{}, io.EOF
	case flags&unix.MSG_TRUNC != 0 || flags&unix.MSG_CTRUNC != 0 && oobn > 0:
		return Message{}, errors.New("a message of the link is too long")
	}
	var m Message
	m.Word, m.Text, _ = strings.Cut(string(packet[:n]), " ")
	m.File, err = fileOf(oob[:oobn])
	return m, err
}

// fileOf returns the descriptor of a control message, or nil.
func fileOf(oob []byte) (*os.File, error) {
	if len(oob) == 0 {
		return nil, nil
	}
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fds[0]), "received"), nil
}

// Ended waits until the supervisor has ended. The worker has to end then.
func (l *Link) Ended() {
	_, _ = l.Receive() // a supervisor without a Follower sends nothing
}

// Close closes this end.
func (l *Link) Close() error { return l.conn.Close() }

// receiveAll passes on what a worker sends, and closes both.
func receiveAll(l *Link, messages chan<- Message) {
	defer close(messages)
	defer l.Close()
	for {
		m, err := l.Receive()
		if err != nil {
			return
		}
		messages <- m
	}
}
