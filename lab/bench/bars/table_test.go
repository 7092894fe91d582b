package bars

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const gpuLog = `{
  "gpu": "NVIDIA H200/PCIe/SSE2", "driver": "NVIDIA Corporation 4.6.0 NVIDIA 580.1",
  "origin": {"cpu": "Xeon", "cpus": 16, "date": "2026-11-23T10:00:00Z", "revision": "abc"},
  "rows": [{"depth": 2, "ms": 6, "jobs": 3}, {"depth": 3, "ms": 9, "jobs": 3}, {"depth": 8, "ms": 8, "jobs": 1}],
  "fence": 4, "zero": 0, "verified": true
}`

const peersLog = `# NVIDIA H200, 580.1; Xeon, 16 CPUs, load 0.90; linux 6 x86_64; 2026-11-23T11:00:00Z; revision abc
Vulkan without a cache on NVIDIA H200: 48 programs, context 1.0 ms, first part 9.0 us, process 99.0 ms, verified
Vulkan with a cache on NVIDIA H200: 48 programs, context 10.0 ms, process 30.0 ms, verified
Vulkan with a cache on NVIDIA H200: 48 programs, context 20.5 ms, process 50.5 ms, verified
Vulkan with a cache on NVIDIA H200: 48 programs, context 2.0 ms, process 12.0 ms, verified
`

// written returns a folder with files.
func written(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "h200")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestValues(t *testing.T) {
	dir := written(t, map[string]string{"a.json": gpuLog, "b.txt": peersLog, "c.txt": "BenchmarkGet-16 \t 9 \t 75 ns/op\nBenchmarkGet-16 \t 9 \t 77 ns/op\n"})
	for _, c := range []struct {
		log  string
		bar  Bar
		want []float64 // nil: an error with err in it
		err  string
	}{
		{"a.json", Bar{Figure: "rows.ms"}, []float64{6, 9, 8}, ""},
		{"a.json", Bar{Figure: "rows.ms", Over: "rows.jobs"}, []float64{2, 3, 8}, ""},
		{"a.json", Bar{Figure: "rows[depth=3].ms", Over: "rows[depth=3].jobs", Times: 1000}, []float64{3000}, ""},
		{"a.json", Bar{Figure: "rows.ms", Minus: "fence", Of: "least"}, []float64{2}, ""},
		{"a.json", Bar{Figure: "rows.ms", First: 2, Of: "most"}, []float64{9}, ""},
		{"a.json", Bar{Figure: "rows.ms", First: 2, Of: "geomean", Over: "fence"}, []float64{math.Sqrt(6*9) / 4}, ""},
		{"a.json", Bar{Figure: "rows.ms", First: 4, Of: "geomean"}, nil, "3 of 4 figures"},
		{"a.json", Bar{Figure: "fence", Over: "zero"}, nil, "no number"},
		{"a.json", Bar{Figure: "fence", Over: "gap"}, nil, "gap: the result has no gap"},
		{"a.json", Bar{Figure: "rows.ms", Minus: "rows[jobs=3].ms"}, nil, "2 values for 3"},
		{"b.txt", Bar{Figure: "peers[name=Vulkan with a cache].process_ms", Minus: "peers[name=Vulkan with a cache].context_ms", Of: "median"}, []float64{20}, ""},
		{"b.txt", Bar{Figure: "peers[name=Vulkan without a cache].first_part_us"}, []float64{9}, ""},
		{"c.txt", Bar{Figure: "benchmarks[name=Get].ns/op"}, []float64{76}, ""},
	} {
		l, err := readLog(filepath.Join(dir, c.log))
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.bar.values(l.root)
		if c.want == nil {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: %v, %v", c.bar, got, err)
			}
		} else if err != nil || !near(got, c.want) {
			t.Errorf("%+v: %v, %v, want %v", c.bar, got, err, c.want)
		}
	}
}

func near(got, want []float64) bool {
	for i := range want {
		if len(got) != len(want) || math.Abs(got[i]-want[i]) > 1e-9 {
			return false
		}
	}
	return len(got) == len(want)
}

func TestReadLog(t *testing.T) {
	dir := written(t, map[string]string{
		"a.json": gpuLog, "b.txt": peersLog, "unsigned.txt": "PASS\n", "unsigned.json": "{}",
		"wrong.json": `{"verified": false}`, "wrong.txt": strings.Replace(peersLog, "verified", "WRONG", 1), "failed.txt": "x\nFAIL\n", "damaged.json": "{",
	})
	for name, want := range map[string]*Origin{
		"a.json":        {"NVIDIA H200, 580.1; Xeon, 16 CPUs", "2026-11-23T10:00:00Z", "abc"},
		"b.txt":         {"NVIDIA H200, 580.1; Xeon, 16 CPUs", "2026-11-23T11:00:00Z", "abc"},
		"unsigned.json": nil, "unsigned.txt": nil,
	} {
		l, err := readLog(filepath.Join(dir, name))
		if err != nil || !reflect.DeepEqual(l.origin, want) {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
	for _, name := range []string{"wrong.json", "wrong.txt", "failed.txt", "damaged.json", "none.json"} {
		if _, err := readLog(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A table has figures that meet and miss their bars, those that are not compared, and why
// others are missing.
func TestTable(t *testing.T) {
	two, ten := 2.0, 10.0
	list := []Bar{
		{Row: "jobs, the worse first", Log: "a.json", Figure: "rows[depth=8].ms", AtMost: &two},
		{Row: "jobs, the worse first", Log: "a.json", Figure: "rows[depth=2].ms", AtMost: &ten},
		{Row: "jobs", Unit: "ms", Log: "a.json", Figure: "rows[depth=2].ms", Over: "rows[depth=2].jobs", AtMost: &two},
		{Row: "jobs", Unit: "ms", Log: "a.json", Figure: "rows[depth=3].ms", Over: "rows[depth=3].jobs", AtMost: &two},
		{Row: "fence", Unit: "us", Log: "a.json", Figure: "fence", AtLeast: &two, On: OnGPU},
		{Row: "fence and more", Log: "a.json", Figure: "fence", AtMost: &ten},
		{Row: "fence and more", Log: "a.json", Figure: "more", AtMost: &ten},
		{Row: "software", Log: "a.json", Figure: "fence", AtMost: &two, On: OnSoftware},
		{Log: "a.json", Figure: "fence", AtMost: &two},
		{Row: "peer", Unit: "ms", Log: "b.txt", Figure: "peers[name=Vulkan without a cache].process_ms"},
		{Row: "all", Log: "a.json", Figure: "rows.ms", AtMost: &two},
		{Row: "gone", Log: "none.json", Figure: "x", AtMost: &two},
	}
	got := NewTable(list, []string{written(t, map[string]string{"a.json": gpuLog, "b.txt": peersLog})}).Markdown()
	want := `| what | bar | h200 |
|---|---|---|
| jobs, the worse first | 2.00; 10.0 | **8.00; 6.00 missed [1]** |
| jobs, ms | 2.00 | **2.00; 3.00 missed [1]** |
| fence, us | at least 2.00 | 4.00 met [1] |
| fence and more | 10.0 | 4.00; - [1] |
| software | 2.00 | - |
| peer, ms | - | 99.0 [1] |
| all | 2.00 | - |
| gone | 2.00 | - |

- [1] NVIDIA H200, 580.1; Xeon, 16 CPUs; 2026-11-23; revision abc
- h200: there is no none.json
- h200: a.json: the result has no more
- h200: a.json: rows.ms has 3 figures
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// A folder of a software driver needs no logs that only GPUs have bars for.
func TestTableOfSoftware(t *testing.T) {
	two := 2.0
	software := strings.Replace(gpuLog, "NVIDIA H200/PCIe/SSE2", "llvmpipe (LLVM 15.0.6, 256 bits)", 1)
	list := []Bar{
		{Row: "fence", Log: "a.json", Figure: "fence", AtLeast: &two},
		{Row: "gone", Log: "none.json", Figure: "x", On: OnGPU},
		{Row: "gone for all", Log: "none.txt", Figure: "x"},
	}
	table := NewTable(list, []string{written(t, map[string]string{"a.json": software}), written(t, map[string]string{"a.json": gpuLog})})
	for i, want := range [][2]string{{"", ""}, {"", "none.json: there is no such log"}, {"none.txt: there is no such log", "none.txt: there is no such log"}} {
		for k, c := range table.Rows[i].Cells {
			if c.Missing != want[k] {
				t.Errorf("row %d, folder %d: %q, want %q", i, k, c.Missing, want[k])
			}
		}
	}
}

// The table for people and the JSON have the same figures.
func TestTablePrints(t *testing.T) {
	list := []Bar{{Row: "fence", Unit: "us", Log: "a.json", Figure: "fence", AtMost: new(float64)}}
	table := NewTable(list, []string{written(t, map[string]string{"a.json": gpuLog})})
	var text strings.Builder
	table.Print(&text)
	for _, want := range []string{"\tbar\th200\n", "fence, us\t0.00\t4.00 missed [1]\n", "[1] NVIDIA H200, 580.1; Xeon"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("there is no %q in\n%s", want, text.String())
		}
	}
	data, err := json.Marshal(table)
	if err != nil || !strings.Contains(string(data), `"figures":[4],"verdict":"missed","origin":{"machine"`) {
		t.Errorf("%s, %v", data, err)
	}
}
