//go:build unix && !aix && !solaris

package binary

import (
	"os"
	"syscall"
	"time"
)

// unlock gives up the lock that bbolt holds on a file. Closing the file is not
// enough: a mapping that nobody unmaps keeps it, and its lock, alive.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// claim locks a file for as long as this process lives and keeps it open. It
// does not wait, and reports whether the file is ours now.
func claim(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// claimDead claims a file whose owner has died: the kernel gives up the locks
// of a process that ends, whatever ends it, in any container.
func claimDead(f *os.File, _ time.Time) bool { return claim(f) }
