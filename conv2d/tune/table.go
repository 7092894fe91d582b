//go:build linux

package tune

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/glctx"
)

// tableEntry is one line of a table of choices.
type tableEntry struct {
	Problem string        `json:"problem"`
	Choice  conv2d.Choice `json:"choice"`
}

// AddToTable returns a table of the form of conv2d/defaults.json with the best
// candidates added for the GPU's model; the other entries stay as they are. data may be
// empty. It fails for a GPU that the table has no model for.
func AddToTable(data []byte, info glctx.Info, results ...Result) ([]byte, error) {
	table := map[string][]tableEntry{}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &table); err != nil {
			return nil, fmt.Errorf("conv2d: a table of choices: %w", err)
		}
	}
	model := conv2d.TableModel(info)
	if model == "" {
		return nil, fmt.Errorf("conv2d: the table has no model for %s", info.GPU)
	}
	entries := table[model]
	for _, r := range results {
		entries = slices.DeleteFunc(entries, func(e tableEntry) bool { return e.Problem == r.Problem })
		entries = append(entries, tableEntry{Problem: r.Problem, Choice: r.Best.Choice})
	}
	slices.SortFunc(entries, func(a, b tableEntry) int { return cmp.Compare(a.Problem, b.Problem) })
	table[model] = entries
	return encodeTable(table)
}

// encodeTable writes an entry a line, models in order without regard to case.
func encodeTable(table map[string][]tableEntry) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("{")
	for i, model := range slices.SortedFunc(maps.Keys(table), func(a, b string) int { return cmp.Compare(strings.ToLower(a), strings.ToLower(b)) }) {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, "\n  %q: [", model)
		for k, e := range table[model] {
			line, err := json.Marshal(e)
			if err != nil {
				return nil, err
			}
			if k > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n    ")
			b.Write(line)
		}
		b.WriteString("\n  ]")
	}
	b.WriteString("\n}\n")
	return b.Bytes(), nil
}
