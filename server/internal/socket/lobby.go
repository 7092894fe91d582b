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

// restTime is the time to read a hello that has come.
const restTime = 100 * time.Millisecond

// Lobby has the connections whose hello has not come: few, so that those that never send one
// keep no others out. Its methods may be called from any goroutine.
type Lobby struct {
	mu      sync.Mutex
	waiting []*net.UnixConn
	closed  bool
}

// NewLobby returns an empty lobby.
func NewLobby() *Lobby { return &Lobby{} }

// Enter adds a connection. In a full lobby the oldest one that has nothing to read leaves for
// it: reading from that fails. Where all have something the oldest of all leaves, and has the
// time to read what has come.
func (l *Lobby) Enter(u *net.UnixConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) >= maxLobby {
		at := slices.IndexFunc(l.waiting, isSilent)
		if at >= 0 {
			giveUp(l.waiting[at])
		} else {
			at = 0
			_ = l.waiting[at].SetReadDeadline(time.Now().Add(restTime))
		}
		l.waiting = slices.Delete(l.waiting, at, at+1)
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
