package osfile

import "errors"

// ErrLocked is returned by TryLock while a lock that excludes the requested one is held.
var ErrLocked = errors.New("file is locked")
