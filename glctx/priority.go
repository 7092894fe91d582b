package glctx

import "fmt"

// Priority returns the priority that the driver granted: "" where it has no
// EGL_IMG_context_priority, as llvmpipe, and in a context that was adopted.
func (c *Context) Priority() string { return c.priority }

func checkPriority(p string) error {
	if _, known := eglPriorities[p]; p != "" && !known {
		return fmt.Errorf("unknown priority %q: there are low, medium and high", p)
	}
	return nil
}

// Attributes of EGL_IMG_context_priority.
const (
	eglPriorityExtension = "EGL_IMG_context_priority"
	eglPriorityLevel     = 0x3100
	eglPriorityHigh      = 0x3101
	eglPriorityMedium    = 0x3102
	eglPriorityLow       = 0x3103
)

// eglPriorities are the values of eglPriorityLevel.
var eglPriorities = map[string]int32{"low": eglPriorityLow, "medium": eglPriorityMedium, "high": eglPriorityHigh}

// withPriority returns lists of EGL attributes that request a priority, and behind them
// those without, for a driver that refuses the request rather than grant another one.
func withPriority(p string, lists [][]int32) [][]int32 {
	level, ok := eglPriorities[p]
	if !ok {
		return lists
	}
	var all [][]int32
	for _, list := range lists {
		all = append(all, append(list[:len(list):len(list)], eglPriorityLevel, level))
	}
	return append(all, lists...)
}

// priorityOf returns the priority of a value of eglPriorityLevel.
func priorityOf(level int32) string {
	for p, value := range eglPriorities {
		if value == level {
			return p
		}
	}
	return ""
}
