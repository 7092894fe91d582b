//go:build !unix || aix || solaris

package binary

import "os"

// unlock has nothing to do: here closing the file gives up bbolt's lock.
func unlock(*os.File) {}
