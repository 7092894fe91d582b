package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const endMark = "<!-- end -->"

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

// claim is a sentence of a file that states a figure of a log.
type claim struct{ file, text string }

// missing returns an error with the claims that are not in their files.
func missing(root string, claims []claim) error {
	var lost []string
	for _, c := range claims {
		data, err := os.ReadFile(filepath.Join(root, c.file))
		if err != nil {
			return err
		}
		if !strings.Contains(oneLine(string(data)), oneLine(c.text)) {
			lost = append(lost, fmt.Sprintf("%s does not contain: %s", c.file, c.text))
		}
	}
	if len(lost) > 0 {
		return fmt.Errorf("figures in sentences differ from their logs:\n%s", strings.Join(lost, "\n"))
	}
	return nil
}

// oneLine returns text with every run of white space as one space.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
