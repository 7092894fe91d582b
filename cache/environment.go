package cache

import (
	"fmt"
	"os"
)

const (
	backfillEnvironment = "SHADERCACHE_BACKFILL"
	binariesEnvironment = "SHADERCACHE_BINARIES"
	historyEnvironment  = "SHADERCACHE_HISTORY"
)

// FromEnvironment returns o with what the environment sets of Backfill, Binaries and History,
// where o does not. [New] does the same, and logs the error.
func (o Options) FromEnvironment() (Options, error) {
	o.Backfill = o.Backfill || os.Getenv(backfillEnvironment) == "1"
	o.History = o.History || os.Getenv(historyEnvironment) == "1"
	if o.Binaries != "" {
		return o, nil
	}
	switch choice := os.Getenv(binariesEnvironment); choice {
	case "", "auto", "always", "never":
		o.Binaries = choice
	default:
		return o, fmt.Errorf("$%s is %q, and not auto, always or never", binariesEnvironment, choice)
	}
	return o, nil
}
