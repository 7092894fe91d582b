//go:build !linux

package trace

import "time"

// processBegan reports that the system does not tell.
func processBegan() (time.Time, bool) { return time.Time{}, false }
