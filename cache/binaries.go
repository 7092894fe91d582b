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

// chooseBinaries sets sourceOnly. A mistake in the environment is logged, and no error: no
// setting of a user stops an application.
func (c *Cache) chooseBinaries() error {
	o, err := c.options.FromEnvironment()
	if err != nil {
		c.log.Warn("a setting is ignored", "error", err)
	}
	switch o.Binaries {
	case BinariesNever:
		c.sourceOnly = neverBinaries
		return nil
	case BinariesAlways:
		return nil
	case BinariesAuto, "":
	default:
		return fmt.Errorf("Options.Binaries is %q, and not auto, always or never", o.Binaries)
	}
	if c.sourceOnly = c.store.SourceOnly(); c.sourceOnly != "" {
		c.log.Warn("program binaries are not used, programs are compiled", "reason", c.sourceOnly)
	}
	return nil
}
