//go:build linux

package socket

import (
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// closing has the descriptors of peers that are to be closed. The last close of a file of a
// peer's file system takes as long as the peer likes, and so would that of a socket that
// lingers: it has threads of its own, a few, and another one where one is stuck.
var closing struct {
	sync.Mutex
	files   []unclosedFile
	closers int
}

// unclosedFile is a descriptor that is to be closed.
type unclosedFile struct {
	fd     int
	unread bool // a connection that has bytes, maybe with descriptors, that were not read
}

// unclosed is the number of those, of those that are being closed, and of those that may come with
// what is read now.
var unclosed atomic.Int64

const (
	maxClosers    = 64           // each is a thread, of which Go ends a process that has 10,000
	maxUnclosed   = 8 * oobFiles // above which no more descriptors are received
	interruptTime = 10 * time.Millisecond
)

// CloseAll closes descriptors of a peer. It does not wait, but for those of memory.
func CloseAll(files []int) {
	for _, fd := range files {
		if isMemory(fd) {
			unix.Close(fd)
		} else {
			closeLater(unclosedFile{fd: fd})
		}
	}
}

// isMemory reports whether a descriptor is of a memfd, as requests have them.
// It asks no file system of a peer.
func isMemory(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	return err == nil
}

func closeLater(f unclosedFile) {
	unclosed.Add(1)
	closing.Lock()
	defer closing.Unlock()
	closing.files = append(closing.files, f)
	if len(closing.files) > 4*oobFiles*closing.closers {
		startCloser()
	}
}

// startCloser starts a thread that closes what is there. closing is held.
func startCloser() {
	if len(closing.files) > 0 && closing.closers < maxClosers {
		closing.closers++
		go closeFiles()
	}
}

// closeFiles closes descriptors until there are none.
func closeFiles() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var closed atomic.Int64
	defer interrupt(unix.Gettid(), &closed)()
	unread := make([]byte, readSize)
	for {
		closing.Lock()
		last := len(closing.files) - 1
		if last < 0 {
			closing.closers--
			closing.Unlock()
			return
		}
		f := closing.files[last]
		closing.files = closing.files[:last]
		closing.Unlock()
		for f.unread { // the kernel closes descriptors in there, and the peer sees an end, no reset
			n, _, err := unix.Recvfrom(f.fd, unread, unix.MSG_DONTWAIT)
			f.unread = n > 0 || err == unix.EINTR
		}
		unix.Close(f.fd)
		unclosed.Add(-1)
		closed.Add(1)
	}
}

// interrupt ends what a thread waits for in the kernel while it closes one file, as that of a
// socket with SO_LINGER does, also of one in the queue of another: by the signal that the runtime
// has for its own use. Where that does not help another thread goes on.
func interrupt(thread int, closed *atomic.Int64) (end func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(interruptTime)
		defer tick.Stop()
		for before := int64(-1); ; before = closed.Load() {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			if closed.Load() == before {
				_ = unix.Tgkill(os.Getpid(), thread, unix.SIGURG)
				closing.Lock()
				startCloser()
				closing.Unlock()
			}
		}
	}()
	return func() { close(done) }
}

// CloseUnread closes a connection that no other process has. What the peer has sent and was not
// read may have descriptors, which the kernel closes then: see closing.
func CloseUnread(u *net.UnixConn) error {
	_ = u.CloseRead() // the peer can send no more
	raw, err := u.SyscallConn()
	if err != nil {
		return err
	}
	copied := -1
	_ = raw.Control(func(fd uintptr) {
		if n, _, _ := unix.Recvfrom(int(fd), make([]byte, 1), unix.MSG_PEEK|unix.MSG_DONTWAIT); n > 0 {
			copied, _ = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0)
		}
	})
	if copied >= 0 {
		_ = u.CloseWrite()
		closeLater(unclosedFile{copied, true})
	}
	return u.Close()
}
