//go:build linux

package placement

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/server/internal/supervisor"
)

// Device is one device of a placement. It follows the workers of its supervisor. Its fields
// are guarded by the placement's mutex.
type Device struct {
	placement *Placement
	number    int

	link     *supervisor.Link // to its worker; nil: none serves
	uuid     *string          // nil: not known yet
	sessions int              // that its worker was given and has not ended
	failed   bool             // there will be no worker any more
	ended    string           // why there is none
}

// is reports whether the device has a number or UUID, as a hello has it.
func (d *Device) is(name string) bool {
	return name == strconv.Itoa(d.number) || d.uuid != nil && name == *d.uuid && name != ""
}

// Serves is called when a worker serves.
func (d *Device) Serves(l *supervisor.Link) {
	d.placement.mu.Lock()
	defer d.placement.mu.Unlock()
	d.link, d.ended = l, ""
	d.placement.change()
	d.placement.watchIdle()
}

// Ended is called when the worker has ended: it has no sessions and names any more.
func (d *Device) Ended(reason string) {
	p := d.placement
	p.mu.Lock()
	defer p.mu.Unlock()
	d.link, d.sessions, d.ended = nil, 0, reason
	for name, number := range p.mu.names {
		if number == d.number {
			delete(p.mu.names, name)
		}
	}
	p.watchIdle()
}

// Failed is called when no worker will serve the device any more.
func (d *Device) Failed(reason string) {
	d.placement.mu.Lock()
	defer d.placement.mu.Unlock()
	d.failed, d.ended = true, reason
	d.placement.change()
}

// Received is called with each message of the worker.
func (d *Device) Received(m supervisor.Message) {
	if m.File != nil {
		m.File.Close() // a worker sends none
	}
	p := d.placement
	p.mu.Lock()
	defer p.mu.Unlock()
	switch m.Word {
	case wordDevice:
		d.uuid = &m.Text
	case wordEnded:
		d.leftLocked(d.link)
	case wordClaim, wordFind:
		owner, found := p.mu.names[m.Text]
		if m.Word == wordClaim && !found {
			p.mu.names[m.Text] = d.number
		}
		if !found || owner == d.number {
			owner = -1
		}
		d.answer(owner)
	case wordDrop:
		if owner, found := p.mu.names[m.Text]; found && owner == d.number {
			delete(p.mu.names, m.Text)
		}
		d.answer(-1)
	}
}

// answer answers a question about a name, beside: a worker that reads nothing must not stop the
// placement.
func (d *Device) answer(owner int) {
	if l := d.link; l != nil {
		go func() { _ = l.Send(supervisor.Message{Word: wordOwner, Text: strconv.Itoa(owner)}) }()
	}
}

// left counts a session less, where the worker of the link still serves.
func (d *Device) left(l *supervisor.Link) {
	d.placement.mu.Lock()
	defer d.placement.mu.Unlock()
	d.leftLocked(l)
}

func (d *Device) leftLocked(l *supervisor.Link) {
	if d.link == l && d.sessions > 0 {
		d.sessions--
		d.placement.watchIdle()
	}
}

// ErrNoWorker is returned by DialPages, wrapped, while the device has no worker that serves.
var ErrNoWorker = errors.New("the device has no worker that serves")

// DialPages returns a connection with the status pages of the device's worker.
func (d *Device) DialPages(context.Context) (net.Conn, error) {
	d.placement.mu.Lock()
	link, ended := d.link, d.ended
	d.placement.mu.Unlock()
	if link == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoWorker, ended)
	}
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "page"), os.NewFile(uintptr(fds[1]), "page")
	defer ours.Close()
	defer theirs.Close()
	if err := link.Send(supervisor.Message{Word: wordPage, File: theirs}); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoWorker, err)
	}
	return net.FileConn(ours)
}
