package cache

import (
	"fmt"
)

// Binaries chooses whether a cache uses the driver's program binaries: see
// Options.Binaries.
type Binaries string

// Choices of [Options].Binaries.
const (
	BinariesAuto   Binaries = "auto"
	BinariesAlways Binaries = "always"
	BinariesNever  Binaries = "never"
)

const neverBinaries = "Options.Binaries is never"

// chooseBinaries sets sourceOnly.
func (c *Cache) chooseBinaries() error {
	switch c.options.Binaries {
	case BinariesNever:
		c.sourceOnly = neverBinaries
		return nil
	case BinariesAlways:
		return nil
	case BinariesAuto, "":
	default:
		return fmt.Errorf("Options.Binaries is %q, and not auto, always or never", c.options.Binaries)
	}
	if c.sourceOnly = c.store.SourceOnly(); c.sourceOnly != "" {
		c.log.Warn("program binaries are not used, programs are compiled", "reason", c.sourceOnly)
	}
	return nil
}
