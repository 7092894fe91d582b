//go:build linux

package socket

import (
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/shadercache/shadercache/internal/osfile"
)

// The descriptors of a socket that another process hands over, and of its lock.
const (
	handedSocket = 3
	handedLock   = 4
)

// Hand returns copies of the socket and of its lock, for a process that calls [Taken]: as
// descriptors 3 and 4, which is the order in exec.Cmd.ExtraFiles. The lock is held for as
// long as one process has a copy.
func (l *Listener) Hand() ([]*os.File, error) {
	file, err := l.File()
	if err != nil {
		return nil, err
	}
	fd, err := unix.FcntlInt(l.lock.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return []*os.File{file, os.NewFile(uintptr(fd), l.lock.Name())}, nil
}

// Leave closes this process's copies. The socket stays: another process has it.
func (l *Listener) Leave() error { return errors.Join(l.UnixListener.Close(), l.lock.Close()) }

// Taken returns the listener that a process handed over. Its Close removes the socket. It closes all else
// that was inherited, such as a script's lock or the end of a pipe: the server lives longer.
func Taken() (*Listener, error) {
	for _, e := range osfile.List("/proc/self/fd") {
		fd, _ := strconv.Atoi(e.Name())
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if inherited := err == nil && flags&unix.FD_CLOEXEC == 0; inherited && fd > handedLock {
			_ = unix.Close(fd)
		}
	}
	unix.CloseOnExec(handedLock)
	l, err := FromFile(os.NewFile(handedSocket, "socket"))
	if err != nil {
		return nil, err
	}
	return locked(l.UnixListener, l.path, os.NewFile(handedLock, l.path+".lock")), nil
}
