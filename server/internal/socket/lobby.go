//go:build linux

package socket

import (
	"net"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// maxLobby is the number of connections that may wait for their hello at a time.
const maxLobby = 64

// Lobby has the connections whose hello has not come: few, so that those that never send one
// keep no others out. Its methods may be called from any goroutine.
type Lobby struct {
	mu      sync.Mutex
	left    sync.Cond // signalled by Leave
	waiting []*net.UnixConn
	closed  bool
}

// NewLobby returns an empty lobby.
func NewLobby() *Lobby {
	l := &Lobby{}
	l.left.L = &l.mu
	return l
}

// Enter adds a connection. In a full lobby the oldest one that has nothing to read leaves for
// it: reading from that fails.
func (l *Lobby) Enter(u *net.UnixConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) >= maxLobby {
		if silent := slices.IndexFunc(l.waiting, isSilent); silent >= 0 {
			giveUp(l.waiting[silent])
			l.waiting = slices.Delete(l.waiting, silent, silent+1)
		} else {
			l.left.Wait() // not for long: all have bytes that their readers take
		}
	}
	l.waiting = append(l.waiting, u)
	if l.closed {
		giveUp(u)
	}
}

// Leave removes a connection whose hello has come, or will not.
func (l *Lobby) Leave(u *net.UnixConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at := slices.Index(l.waiting, u); at >= 0 {
		l.waiting = slices.Delete(l.waiting, at, at+1)
	}
	l.left.Signal()
}

// Close gives up all connections, and those that enter later.
func (l *Lobby) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	for _, u := range l.waiting {
		giveUp(u)
	}
}

// giveUp has reading fail from now on.
func giveUp(u *net.UnixConn) { _ = u.SetReadDeadline(time.Unix(1, 0)) }

// isSilent reports whether nothing has come that is not read.
func isSilent(u *net.UnixConn) bool {
	unread := 0
	raw, err := u.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) { unread, _ = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	}
	return unread == 0
}
