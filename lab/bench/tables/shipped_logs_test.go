package tables

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shadercache/shadercache/lab/bench/bars"
)

// measuredLess are the revisions of logs from before a figure of theirs existed.
var measuredLess = []string{"unknown revision", "e02647286f8d"}

// A log that is there has every figure of its bars, and its results were right: one that
// was cut short is no evidence.
func TestShippedLogsHaveTheirFigures(t *testing.T) {
	list, err := bars.Read(filepath.Join(root, barsFile))
	if err != nil {
		t.Fatal(err)
	}
	folders := logFolders(root)
	figures := 0
	for _, r := range bars.NewTable(list, folders).Rows {
		for i, c := range r.Cells {
			if c.Origin != nil {
				figures++
			}
			wrong := strings.Contains(c.Missing, "results were wrong")
			if c.Missing != "" && (wrong || c.Origin != nil && !slices.Contains(measuredLess, c.Origin.Revision)) {
				t.Errorf("%s, %s: %s", folders[i], r.Row, c.Missing)
			}
		}
	}
	if figures == 0 {
		t.Error("there are no figures")
	}
}
