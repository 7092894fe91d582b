package main

import (
	"fmt"
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
