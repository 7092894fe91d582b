//go:build linux

package executor

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// alarm wakes a goroutine at a time, within some 10 us. Go's timers have a
// granularity of 1 ms in a process that is otherwise idle; the kernel's do not,
// and a goroutine that reads from one costs nothing while it sleeps.
type alarm struct {
	file *os.File // fd, as the runtime's poller sees it

	mu struct {
		sync.Mutex
		fd int // -1 once closed
	}
}

func newAlarm() (*alarm, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a timer: %w", err)
	}
	a := &alarm{file: os.NewFile(uintptr(fd), "timer")}
	a.mu.fd = fd
	return a, nil
}

// set makes the alarm go off once after d, in place of what was set before.
// It does nothing after close.
func (a *alarm) set(d time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.mu.fd < 0 {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, d.Nanoseconds()))}
	if err := unix.TimerfdSettime(a.mu.fd, 0, &spec, nil); err != nil {
		panic(fmt.Sprintf("executor: a timer does not take %v: %v", d, err))
	}
}

// run calls ring whenever the alarm goes off, until close.
func (a *alarm) run(ring func()) {
	var expirations [8]byte
	for {
		if _, err := a.file.Read(expirations[:]); err != nil {
			return
		}
		ring()
	}
}

// close ends run.
func (a *alarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.mu.fd = -1
	a.file.Close()
}
