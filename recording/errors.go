package recording

import (
	"errors"
	"fmt"
)

var (
	// ErrNotRecording is returned by Open, wrapped, for a folder without programs of a
	// version that this package reads.
	ErrNotRecording = errors.New("recording: not a recording")

	// ErrDamaged is returned, wrapped, for a file with content that no recorder writes.
	ErrDamaged = errors.New("damaged")
)

func damaged(format string, arguments ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, arguments...)...)
}
