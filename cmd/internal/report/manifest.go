package report

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Manifest returns the programs that callers asked for, in that order, as a manifest of
// preload, or "" where there is none. Where the directory does not keep the text of a
// program, its file is to be filled in.
func (s *Start) Manifest() string {
	type entry struct {
		Name string `json:"name"`
		Key  string `json:"key,omitempty"`
	}
	asked := slices.DeleteFunc(slices.Clone(s.Programs), func(p Program) bool { return p.AskedMillis == 0 || p.Error != "" })
	if len(asked) == 0 {
		return ""
	}
	slices.SortStableFunc(asked, func(a, b Program) int { return cmp.Compare(a.AskedMillis, b.AskedMillis) })
	var m struct {
		Programs []entry `json:"programs"`
	}
	for _, p := range asked {
		m.Programs = append(m.Programs, entry{p.Name, p.Key})
	}
	text, _ := json.MarshalIndent(m, "", "  ") // strings can be encoded
	return string(text)
}
