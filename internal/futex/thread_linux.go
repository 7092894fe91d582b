package futex

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The operations of futex(2), for threads of one process.
const (
	waitPrivate = 0 | 128
	wakePrivate = 1 | 128
)

// sleepThread sleeps until state is not threadSleeps. An error is an early return.
//
// Go's runtime takes the thread for one that runs: telling it that the thread is in a system
// call takes half as much CPU time again as the sleep (BenchmarkSleep), and after 10 ms its
// monitor takes the processor away and polls every 20 us for a while. A collection or another
// goroutine that needs the processor sends the thread a signal, which ends the sleep.
func (s *Sleeper) sleepThread(limit time.Duration) {
	timeout := unix.NsecToTimespec(limit.Nanoseconds())
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.state)), waitPrivate, uintptr(threadSleeps),
		uintptr(unsafe.Pointer(&timeout)), 0, 0)
}

func (s *Sleeper) wakeThread() {
	_, _, _ = syscall.RawSyscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(&s.state)), wakePrivate, 1, 0, 0, 0)
}

// timerSlack is what the kernel may add to a sleep, in nanoseconds. The default is 50 us.
const timerSlack = 1000

// SleepExactly makes sleeps of this OS thread end on time.
func SleepExactly() { _ = unix.Prctl(unix.PR_SET_TIMERSLACK, timerSlack, 0, 0, 0) }
