package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// claim is a sentence of a file that states figures of a log.
type claim struct {
	file, format string
	values       []any
}

// newClaim returns a sentence of a file.
func newClaim(file, format string, values ...any) claim { return claim{file, format, values} }

func (c claim) text() string { return fmt.Sprintf(c.format, c.values...) }

// state returns an error with each claim that is not in its file, whatever lines it is
// broken into.
func state(root string, claims []claim) error {
	var lost []string
	for _, c := range claims {
		data, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			return err
		}
		if !strings.Contains(oneLine(string(data)), oneLine(c.text())) {
			lost = append(lost, fmt.Sprintf("%s does not contain: %s", c.file, c.text()))
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("figures in sentences differ from their logs:\n%s", strings.Join(lost, "\n"))
	}
	return nil
}

// oneLine returns text with every run of white space as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
