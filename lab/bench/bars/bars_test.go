package bars

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type row struct {
	Depth   int     `json:"depth"`
	Variant string  `json:"variant,omitempty"`
	Speed   float64 `json:"per_s"`
}

var result = struct {
	Rows  []row          `json:"rows"`
	Fence map[string]any `json:"fence"`
}{[]row{{1, "a", 10}, {3, "b, c", 25.5}, {3, "d", 30}}, map[string]any{"us": 15.5, "name": "x"}}

func bar(figure string, least, most float64) Bar {
	return Bar{Figure: figure, AtLeast: &least, AtMost: &most}
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		bar  Bar
		want []string // in the error; none: no error
	}{
		{bar("fence.us", 15.5, 15.5), nil},
		{bar("fence.us", 16, 20), []string{"1 of the figures", "fence.us", "15.5", "at least 16"}},
		{bar("rows[depth=3].per_s", 0, 26), []string{"1 of the figures", "30", "at most 26"}},
		{bar("rows[depth=3].per_s", 26, 29), []string{"2 of the figures"}},
		{bar("rows[depth=3,variant=d].per_s", 30, 30), nil},
		{bar("rows.per_s", 10, 30), nil},
		{bar("rows[depth=4].per_s", 0, 1), []string{"no element of rows has depth=4"}},
		{bar("rows[deep=3].per_s", 0, 1), []string{"no element of rows"}},
		{bar("fence.ms", 0, 1), []string{"no ms"}},
		{bar("fence.name", 0, 1), []string{"no number"}},
		{bar("fence.us.more", 0, 1), []string{"no more"}},
	} {
		err := Check([]Bar{c.bar}, result)
		if (err == nil) != (c.want == nil) {
			t.Errorf("%+v: %v", c.bar, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: no %q in %v", c.bar.Figure, want, err)
			}
		}
	}
}

// Bars may be for one kind of device, and no bars are no failure.
func TestCheckOnDevices(t *testing.T) {
	most := 1.0
	for _, c := range []struct {
		gpu, on string
		short   string // in the error; "": none
	}{
		{"NVIDIA H200/PCIe/SSE2", OnGPU, "1 of the figures"},
		{"NVIDIA H200/PCIe/SSE2", OnSoftware, "none of the bars is for this device"},
		{"llvmpipe (LLVM 15.0.6, 256 bits)", OnSoftware, "1 of the figures"},
		{"llvmpipe (LLVM 15.0.6, 256 bits)", "", "1 of the figures"},
	} {
		err := Check([]Bar{{Figure: "us", AtMost: &most, On: c.on}}, map[string]any{"gpu": c.gpu, "us": 2})
		if err == nil || !strings.Contains(err.Error(), c.short) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := Check(nil, result); err != nil {
		t.Error(err)
	}
}

// A bar with a log is for the benchmark that writes it.
func TestFor(t *testing.T) {
	list := []Bar{{Figure: "a", Log: "executor.json"}, {Figure: "b"}, {Figure: "c", Log: "resident.json"}}
	if some, err := For(list, "executor.json"); err != nil || len(some) != 2 || some[0].Figure != "a" || some[1].Figure != "b" {
		t.Errorf("%v, %v", some, err)
	}
	if _, err := For(list[2:], "steal.json"); err == nil || !strings.Contains(err.Error(), "no bars for steal.json, only for resident.json") {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bars.json")
	for text, ok := range map[string]bool{
		`[{"figure": "a.b", "at_least": 1}]`:              true,
		`[{"figure": "a.b", "at_most": 0}]`:               true,
		`[{"figure": "a.b"}]`:                             false,
		`[{"figure": "a", "row": "x", "log": "y.json"}]`:  true,
		`[{"figure": "a", "row": "x", "at_most": 1}]`:     false,
		`[{"figure": "a", "at_most": 1, "on": "a cpu"}]`:  false,
		`[{"figure": "a", "at_most": 1, "of": "middle"}]`: false,
		`[{"at_most": 1}]`:                                false,
		`[{"figure": "a", "most": 1}]`:                    false,
		`[]`:                                              false,
		`{`:                                               false,
		`[{"figure": "a", "at_least": "much"}]`:           false,
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if list, err := Read(file); (err == nil) != ok {
			t.Errorf("%s: %v, %v", text, list, err)
		}
	}
	if _, err := Read(file + "x"); err == nil {
		t.Error("no error for a file that does not exist")
	}
}

// The bars of this project can be read.
func TestOwnBars(t *testing.T) {
	files, err := filepath.Glob("../../../docs/bench/bars*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		if _, err := Read(file); err != nil {
			t.Error(err)
		}
	}
}
