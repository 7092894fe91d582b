package cache

import (
	"cmp"
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

// orDefault returns $SHADERCACHE_BINARIES where b is not set, and else BinariesAuto. It
// returns an error for another text.
func (b Binaries) orDefault() (Binaries, error) {
	switch b {
	case "":
		o, err := Options{}.FromEnvironment()
		return cmp.Or(o.Binaries, BinariesAuto), err
	case BinariesAuto, BinariesAlways, BinariesNever:
		return b, nil
	}
	return BinariesAuto, fmt.Errorf("Options.Binaries is %q, and not auto, always or never", b)
}

// sourceOnlyReason returns why programs are made from their sources alone, or "".
func (b Binaries) sourceOnlyReason(store Verdicts) string {
	switch b {
	case BinariesNever:
		return neverBinaries
	case BinariesAlways:
		return ""
	}
	return store.SourceOnly()
}

// chooseBinaries sets sourceOnly. A mistake in the environment is logged, and no error: no
// setting of a user stops an application.
func (c *Cache) chooseBinaries() error {
	choice, err := c.options.Binaries.orDefault()
	if err != nil && c.options.Binaries != "" {
		return err
	}
	if err != nil {
		c.log.Warn("a setting is ignored", "error", err)
	}
	c.sourceOnly = choice.sourceOnlyReason(c.store)
	if c.sourceOnly != "" && c.sourceOnly != neverBinaries {
		c.log.Warn("program binaries are not used, programs are compiled", "reason", c.sourceOnly)
	}
	return nil
}
