//go:build !unix || aix || solaris

package binary

import (
	"os"
	"time"
)

// unlock has nothing to do: here closing the file gives up bbolt's lock.
func unlock(*os.File) {}

// claim has nothing to do: names are unique, and age tells who has died.
func claim(*os.File) bool { return true }

// claimDead takes an owner for dead that has written nothing for an hour.
func claimDead(f *os.File, now time.Time) bool {
	info, err := f.Stat()
	return err == nil && now.Sub(info.ModTime()) > time.Hour
}
