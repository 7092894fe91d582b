// Package tables holds the documentation to its logs: each table between <!-- NAME --> and
// <!-- end --> of a page, the pictures of starts, and each sentence that states a measured
// figure are those of the raw output in docs/logs. Its tests compare them.
//
//	go test ./lab/bench/tables -update
//
// writes the tables and the pictures anew; sentences are changed by hand.
package tables

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const endMark = "<!-- end -->"

// check fails where a page, a picture or a sentence below root differs from the logs.
func check(root string) error {
	files, stated, err := expected(root)
	if err != nil {
		return err
	}
	for file, text := range files {
		old, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			return err
		}
		if text != string(old) {
			return fmt.Errorf("%s differs from its logs: go test ./lab/bench/tables -update", file)
		}
	}
	return state(root, stated)
}

// expected returns pages and pictures, by file, with the tables of the logs below root, and
// the sentences that state figures.
func expected(root string) (map[string]string, []claim, error) {
	l := &logs{root: filepath.Join(root, "docs", "logs")}
	files, stated := pictures(l), claims(l)
	for page, tables := range tables(l) {
		old, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			return nil, nil, err
		}
		if page == limitsPage {
			if err := addLimits(root, string(old), tables); err != nil {
				return nil, nil, err
			}
		}
		if files[page], err = fill(string(old), tables); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", page, err)
		}
	}
	return files, stated, l.err
}

// pictures returns all pictures, by file.
func pictures(l *logs) map[string]string {
	files := map[string]string{}
	for file, log := range map[string]string{
		"docs/startup-h200.svg":     "h200/startup-preload.json",
		"docs/startup-llvmpipe.svg": "llvmpipe/startup.json",
	} {
		files[file] = startupPicture(l.startup(log), log)
	}
	return files
}

// tables returns all tables, by page and name.
func tables(l *logs) map[string]map[string]string {
	return map[string]map[string]string{
		page: {
			"startup h200 preload": startupTable(l.startup("h200/startup-preload.json")),
			"startup h200":         startupTable(l.startup("h200/startup.json")),
			"startup llvmpipe":     startupTable(l.startup("llvmpipe/startup.json")),
			"fleet h200":           fleetTable(l.fleets("h200/remote-1ms.json", "h200/remote-40ms-1s.json", "h200/remote-40ms.json")),
			"resident programs":    residentProgramsTable(l),
			"programs in memory":   programsInMemoryTable(l),
			"store":                storeTable(l),
		},
		"docs/together.md": {
			"together": togetherTable(l),
			"at once":  atOnceTable(l, "together.json", "together-cold.json", "together-machines.json"),
		},
		kernelsPage: {
			"gemm h200":   peerTable("matrix product", l.kernels("h200/gemm.json")),
			"conv2d h200": peerTable("convolution", l.kernels("h200/conv2d.json")),
		},
		residentPage:        {"resident": latencyTable(l.resident("h200/resident.json"))},
		"docs/recording.md": {"foreign programs": replayTable(l, "llvmpipe/replay.json", "llvmpipe/replay-mesa25.json")},
		limitsPage:          {"targets": targetsTable(l)},
	}
}

// fill returns text with each table between its marks. It fails unless every table has
// one place, and every place a table.
func fill(text string, tables map[string]string) (string, error) {
	for name, table := range tables {
		mark := "<!-- " + name + " -->\n"
		before, rest, found := strings.Cut(text, mark)
		_, after, ended := strings.Cut(rest, endMark)
		if !found || !ended || strings.Contains(after, mark) {
			return "", fmt.Errorf("there is not one place for the table %q", name)
		}
		text = before + mark + table + endMark + after
	}
	if n := strings.Count(text, endMark); n != len(tables) {
		return "", fmt.Errorf("there are %d places for %d tables", n, len(tables))
	}
	return text, nil
}

// table is a table in Markdown.
type table struct{ strings.Builder }

func newTable(columns ...string) *table {
	t := &table{}
	t.row(columns...)
	t.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	return t
}

func (t *table) row(cells ...string) {
	t.WriteString("| " + strings.Join(cells, " | ") + " |\n")
}
