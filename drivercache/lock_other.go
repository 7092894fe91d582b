//go:build !unix || aix || solaris

package drivercache

import (
	"errors"
	"os"
)

// lock does nothing: no driver that this package manages runs on this system.
func lock(*os.File, bool) error { return nil }

func holdAcrossExec(*os.File) error { return errors.ErrUnsupported }
