package wire

import "fmt"

// Name returns the name of a value of a kind, also of one that has none.
func Name[T ~uint8 | ~uint32](names []string, kind string, value T) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s %d", kind, value)
}
