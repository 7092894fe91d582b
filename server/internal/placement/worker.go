//go:build linux

package placement

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"

	"github.com/shadercache/shadercache/server/internal/socket"
	"github.com/shadercache/shadercache/server/internal/supervisor"
)

// Worker is the worker's end of a placement: it has the connections that were placed on its
// device, and knows which worker has a named buffer. Its methods may be called from any
// goroutine.
type Worker struct {
	link     *supervisor.Link
	sessions *queue[*socket.Conn]
	pages    *queue[*net.UnixConn]
	over     chan struct{} // closed when the placement has ended

	asking  sync.Mutex // one question at a time
	answers chan int
}

// NewWorker returns the worker's end over its link with the supervisor, for a GPU with a UUID.
func NewWorker(l *supervisor.Link, uuid string) (*Worker, error) {
	if err := l.Send(supervisor.Message{Word: wordDevice, Text: uuid}); err != nil {
		return nil, err
	}
	w := &Worker{link: l, sessions: newQueue[*socket.Conn](), pages: newQueue[*net.UnixConn](), over: make(chan struct{}), answers: make(chan int, 1)}
	go w.receive()
	return w, nil
}

// Over returns a channel that is closed when the placement's process has ended.
func (w *Worker) Over() <-chan struct{} { return w.over }

// receive takes messages until the placement ends.
func (w *Worker) receive() {
	defer close(w.over)
	for {
		m, err := w.link.Receive()
		if err != nil {
			return
		}
		switch m.Word {
		case wordSession:
			w.sessions.put(w.session(m))
		case wordPage:
			if conn, err := socket.ConnOf(m.File); err == nil {
				w.pages.put(conn, nil)
			}
		case wordOwner:
			if owner, err := strconv.Atoi(m.Text); err == nil {
				w.answers <- owner
			}
		}
	}
}

// session returns the connection of a client that was placed here.
func (w *Worker) session(m supervisor.Message) (*socket.Conn, error) {
	conn, err := socket.ConnOf(m.File)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", socket.ErrRefused, err)
	}
	c, err := socket.NewConn(conn, []byte(m.Text))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", socket.ErrRefused, err)
	}
	return c, nil
}

// Accept waits for a client, as socket.Listener.Accept does.
func (w *Worker) Accept() (*socket.Conn, error) { return w.sessions.take() }

// Close ends Accept. Connections of clients that are still placed here are closed.
func (w *Worker) Close() error {
	w.sessions.close()
	return nil
}

// SessionEnded reports the end of a session to the placement.
func (w *Worker) SessionEnded() { _ = w.link.Send(supervisor.Message{Word: wordEnded}) }

// Claim, Find and Drop are those of server.Names.
func (w *Worker) Claim(name string) (owner int, err error) { return w.ask(wordClaim, name) }

// Find returns the other worker that has a name, or -1.
func (w *Worker) Find(name string) (owner int, err error) { return w.ask(wordFind, name) }

// Drop frees a name of this worker.
func (w *Worker) Drop(name string) { _, _ = w.ask(wordDrop, name) } // without a placement the process ends

func (w *Worker) ask(word, name string) (owner int, err error) {
	w.asking.Lock()
	defer w.asking.Unlock()
	if err := w.link.Send(supervisor.Message{Word: word, Text: name}); err != nil {
		return 0, err
	}
	select {
	case owner = <-w.answers:
		return owner, nil
	case <-w.over:
		return 0, errors.New("the placement has ended")
	}
}

// Pages returns the listener of the connections for status pages.
func (w *Worker) Pages() net.Listener { return pages{w.pages} }

type pages struct{ queue *queue[*net.UnixConn] }

func (p pages) Accept() (net.Conn, error) { return p.queue.take() }
func (p pages) Addr() net.Addr            { return &net.UnixAddr{Name: "placement", Net: "unix"} }
func (p pages) Close() error {
	p.queue.close()
	return nil
}
