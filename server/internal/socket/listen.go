//go:build linux

package socket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/internal/osfile"
)

// ErrRunning is returned by Listen while another server has the socket.
var ErrRunning = errors.New("a server runs already")

// Listener is a listening socket with the lock that makes its owner the only server at its
// path. Close removes the socket and then releases the lock.
type Listener struct {
	*net.UnixListener
	path string
	lock *os.File    // nil: inherited, and removed by the process that made it
	made fs.FileInfo // of the socket, where there is a lock
}

// Listen binds the socket at path, in a directory of mode 0700, which it makes where it
// does not exist. A socket that a dead server left is replaced: the lock on path.lock,
// which ends with its process, is free, and nothing answers. It returns ErrRunning or
// ErrUnsafe, wrapped.
func Listen(path string) (*Listener, error) {
	l, err := listen(path)
	if err != nil {
		return nil, fmt.Errorf("server: listen on %s: %w", path, err)
	}
	return l, nil
}

func listen(path string) (*Listener, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if err := makeDir(path); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := osfile.TryLock(lock, true); err != nil {
		lock.Close()
		if errors.Is(err, osfile.ErrLocked) {
			err = ErrRunning
		}
		return nil, err
	}
	l, err := bind(path)
	if err != nil {
		return nil, errors.Join(err, osfile.Release(lock))
	}
	return locked(l, path, lock), nil
}

// locked returns a listener whose Close removes the socket that is at path now.
func locked(l *net.UnixListener, path string, lock *os.File) *Listener {
	made, _ := os.Lstat(path) // without it the socket stays
	return &Listener{l, path, lock, made}
}

// bind replaces a socket at path that is ours and dead. Anything else stays, and is an error.
func bind(path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode().Type() == os.ModeSocket {
		if owner, _ := osfile.Owner(info); owner != os.Getuid() {
			return nil, fmt.Errorf("the socket there belongs to user %d", owner)
		}
		if err := awaitDead(path); err != nil {
			return nil, err
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false) // Close does, while the lock is held
	return l, nil
}

// awaitDead waits until nothing answers at a socket, for about 2 s: so long the worker of a server
// that was killed may. Another program's, which has no lock of ours, answers for longer.
func awaitDead(path string) error {
	for pause := time.Millisecond; ; pause *= 2 {
		c, err := net.Dial("unix", path)
		if errors.Is(err, unix.ECONNREFUSED) {
			return nil
		}
		if err == nil {
			c.Close()
		}
		if pause > time.Second {
			return fmt.Errorf("%w, or another program: the socket answers, though none has its lock", ErrRunning)
		}
		time.Sleep(pause)
	}
}

// Close stops listening, and removes the socket that Listen made, where it is still there.
func (l *Listener) Close() (err error) {
	if l.lock == nil {
		return l.UnixListener.Close()
	}
	// The lock file stays: removing it would let two servers lock two files.
	if now, _ := os.Lstat(l.path); os.SameFile(now, l.made) {
		err = os.Remove(l.path)
	}
	return errors.Join(err, l.UnixListener.Close(), osfile.Release(l.lock))
}

// The first descriptor that a service manager passes.
const firstInherited = 3

// Inherited returns the socket that a service manager passed: LISTEN_FDS of systemd's
// socket activation. It returns nil where none was. It removes the variables from the
// environment, so that child processes do not take them for theirs.
func Inherited() (*Listener, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if count != "1" {
		return nil, fmt.Errorf("server: the service manager passed %s sockets, 1 is expected", count)
	}
	return FromFile(os.NewFile(firstInherited, "LISTEN_FDS"))
}

// FromFile returns the listener of an open descriptor, which it closes.
func FromFile(f *os.File) (*Listener, error) {
	defer f.Close()
	accepts, _ := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("server: the inherited socket: %w", err)
	}
	u, ok := l.(*net.UnixListener)
	if network := l.Addr().Network(); !ok || network != "unix" || accepts == 0 { // also unixgram is a UnixListener
		l.Close()
		return nil, fmt.Errorf("server: the inherited socket, of the network %s, is no unix stream socket that listens", network)
	}
	u.SetUnlinkOnClose(false)
	return &Listener{UnixListener: u, path: u.Addr().String()}, nil
}

// Path returns the path of the socket.
func (l *Listener) Path() string { return l.path }
