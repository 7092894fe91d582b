package glctx

import (
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// timerFD is a kernel timer that runs a function at a given time, within about
// 10 us. Go's own timers have a granularity of 1 ms in a process that is otherwise
// idle. The goroutine that waits for the timer uses no CPU time meanwhile.
type timerFD struct {
	file *os.File // fd, registered with the runtime's poller

	mu struct {
		sync.Mutex
		fd int // -1 after close
	}
}

func newTimerFD() (*timerFD, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create a timer: %w", err)
	}
	t := &timerFD{file: os.NewFile(uintptr(fd), "timer")}
	t.mu.fd = fd
	return t, nil
}

// set makes the timer expire once, after d, and replaces what was set before. It
// does nothing after close.
func (t *timerFD) set(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.fd < 0 {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, d.Nanoseconds()))}
	if err := unix.TimerfdSettime(t.mu.fd, 0, &spec, nil); err != nil {
		panic(fmt.Sprintf("glctx: set a timer to %v: %v", d, err))
	}
}

// run calls expired each time the timer expires, until close.
func (t *timerFD) run(expired func()) {
	var expirations [8]byte
	for {
		if _, err := t.file.Read(expirations[:]); err != nil {
			return
		}
		expired()
	}
}

// close ends run.
func (t *timerFD) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.fd = -1
	t.file.Close()
}
