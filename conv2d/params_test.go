//go:build linux

package conv2d

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// with returns parameters with other values, given as names and values in turn. It
// panics for a name that they do not have.
func with[T Params](params T, pairs ...any) T {
	changed, err := decodeParams[T](changedJSON(params, pairs...))
	if err != nil {
		panic(err)
	}
	return changed.(T)
}

// changedJSON returns parameters with other values as a file has them.
func changedJSON(params Params, pairs ...any) []byte {
	values := UnknownParams{}
	for name, v := range named(params) {
		values[name] = v
	}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i].(string)] = pairs[i+1].(int)
	}
	data, err := json.Marshal(values)
	if err != nil {
		panic(err)
	}
	return data
}

// TestShippedTableKeepsItsForm decodes and encodes every choice of the table: not a
// byte may change.
func TestShippedTableKeepsItsForm(t *testing.T) {
	var table map[string][]json.RawMessage
	if err := json.Unmarshal(defaultsJSON, &table); err != nil {
		t.Fatal(err)
	}
	choices := 0
	for _, entries := range table {
		for _, entry := range entries {
			choices++
			var e tableEntry
			if err := json.Unmarshal(entry, &e); err != nil {
				t.Errorf("%s: %v", entry, err)
			}
			if again, err := json.Marshal(e); err != nil || !bytes.Equal(again, entry) {
				t.Errorf("%s became %s: %v", entry, again, err)
			}
		}
	}
	if choices == 0 {
		t.Error("an empty table")
	}
}

// TestChoicesOfLogsKeepTheirForm does the same with the choices in the logs of the
// searches that docs/ is made from.
func TestChoicesOfLogsKeepTheirForm(t *testing.T) {
	logs, err := filepath.Glob("../docs/logs/*/tune-*.json")
	if err != nil || len(logs) == 0 {
		t.Fatalf("%d logs: %v", len(logs), err)
	}
	for _, log := range logs {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			Problems []struct {
				Best struct{ Choice json.RawMessage }
			}
		}
		if err := json.Unmarshal(data, &result); err != nil || len(result.Problems) == 0 {
			t.Fatalf("%s: %d problems, %v", log, len(result.Problems), err)
		}
		for _, p := range result.Problems {
			checkChoiceForm(t, log, p.Best.Choice)
		}
	}
}

func checkChoiceForm(t *testing.T, log string, written json.RawMessage) {
	t.Helper()
	var choice Choice
	var compact bytes.Buffer
	if err := json.Compact(&compact, written); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(written, &choice); err != nil {
		t.Errorf("%s: %s: %v", log, written, err)
	}
	if again, err := json.Marshal(choice); err != nil || !bytes.Equal(again, compact.Bytes()) {
		t.Errorf("%s: %s became %s: %v", log, &compact, again, err)
	}
}

func TestChoiceJSON(t *testing.T) {
	for _, text := range []string{
		`{"algorithm":"direct","params":{"local":64}}`,
		`{"algorithm":"gemm_row","params":{"fused":0,"lanes":16,"slices":16,"split":9}}`, // from before ahead and rows
		`{"algorithm":"gone","params":{"a":1,"b":2}}`,
		`{"algorithm":"gone"}`,
	} {
		var c Choice
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if again, err := json.Marshal(c); err != nil || string(again) != text {
			t.Errorf("%s became %s: %v", text, again, err)
		}
	}
	var c Choice
	if err := json.Unmarshal([]byte(`{"algorithm":"gone","params":{"b":2,"a":1}}`), &c); err != nil || c.String() != "gone a=1 b=2" {
		t.Errorf("%v: %v", c, err)
	}
	if got := fmt.Sprint(Choice{"winograd4", testTiles[0]}); got != "winograd4 bk=8 bm=128 bn=128 buffers=2 clamp=1 slices=1 split=1 taps_first=1 tm=8 tn=8 unroll=0" {
		t.Error(got)
	}
	for _, algorithm := range []string{"direct", "depthwise", "implicit", "gemm_tiled", "gemm_register"} {
		err := json.Unmarshal([]byte(`{"algorithm":"`+algorithm+`","params":{"nonsense":1}}`), &c)
		if err == nil || !strings.Contains(err.Error(), `unknown field "nonsense"`) {
			t.Errorf("%s: parameters of another algorithm: %v", algorithm, err)
		}
	}
}

// TestParamsOfEveryAlgorithm checks that kept parameters can be read for every
// algorithm that there is: no two have one name.
func TestParamsOfEveryAlgorithm(t *testing.T) {
	if got, want := len(paramDecoders), len(gemmAlgorithms)+len(convAlgorithms); got != want {
		t.Errorf("%d algorithms have %d names", want, got)
	}
}
