package osfile

import (
	"errors"
	"syscall"
)

// ErrNoSpace is returned where a volume, or the user's quota on it, is full.
var ErrNoSpace = errors.New("no space left on the volume")

// IsNoSpace reports whether err means that a volume, or the user's quota, is full.
func IsNoSpace(err error) bool {
	return errors.Is(err, ErrNoSpace) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
