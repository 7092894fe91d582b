package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// What is written an element at a time is what encoding/json writes at once.
func TestJSONListIsThatOfTheEncoder(t *testing.T) {
	type element struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}
	for _, elements := range [][]element{{}, {{"a", 1}}, {{"a", 1}, {"<b>", 2}, {"c", 3}}} {
		var got, want strings.Builder
		list, err := NewJSONList(&got, "dir", "/tmp/\"x\"", "programs")
		for _, e := range elements {
			if err == nil {
				err = list.Append(e)
			}
		}
		if err == nil {
			err = list.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		encoder := json.NewEncoder(&want)
		encoder.SetIndent("", "  ")
		whole := struct {
			Dir      string    `json:"dir"`
			Programs []element `json:"programs"`
		}{"/tmp/\"x\"", elements}
		if err := encoder.Encode(whole); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("%d elements: got\n%swant\n%s", len(elements), got.String(), want.String())
		}
	}
}
