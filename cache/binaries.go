package cache

import (
	"fmt"
)

const neverBinaries = "Options.Binaries is never"

// chooseBinaries sets sourceOnly.
func (c *Cache) chooseBinaries() error {
	switch c.options.Binaries {
	case "never":
		c.sourceOnly = neverBinaries
		return nil
	case "always":
		return nil
	case "auto", "":
	default:
		return fmt.Errorf("Options.Binaries is %q, and not auto, always or never", c.options.Binaries)
	}
	if c.sourceOnly = c.store.SourceOnly(); c.sourceOnly != "" {
		c.log.Warn("program binaries are not used, programs are compiled", "reason", c.sourceOnly)
	}
	return nil
}
