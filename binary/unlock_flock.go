//go:build unix && !aix && !solaris

package binary

import (
	"os"
	"syscall"
)

// unlock gives up the lock that bbolt holds on a file. Closing the file is not
// enough: a mapping that nobody unmaps keeps it, and its lock, alive.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
