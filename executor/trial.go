package executor

import (
	"os"
	"slices"
	"strings"
)

// Trial reports whether a form is named by SHADERCACHE_TRIAL: to compare forms in one run.
func Trial(name string) bool {
	return slices.Contains(strings.Split(os.Getenv("SHADERCACHE_TRIAL"), ","), name)
}

var (
	trialStages = Trial("stages")
	trialNoSync = Trial("nosync")
	trialInputs = Trial("inputs")
)
