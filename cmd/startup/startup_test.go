package startup

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPrepareScenario(t *testing.T) {
	filled := t.TempDir()
	for _, file := range []string{"GPU-01234567/blobs/ab/x.bin", "driver/mesa/index", "cache_stats.json"} {
		path := filepath.Join(filled, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for scenario, want := range map[string][2]bool{ // blobs, driver
		Cold:       {false, false},
		BinaryOnly: {true, false},
		DriverOnly: {false, true},
		Both:       {true, true},
	} {
		own := filepath.Join(t.TempDir(), scenario)
		if err := prepareScenario(scenario, filled, own); err != nil {
			t.Fatal(err)
		}
		got := [2]bool{
			exists(t, filepath.Join(own, "GPU-01234567/blobs/ab/x.bin")),
			exists(t, filepath.Join(own, "driver/mesa/index")),
		}
		if got != want {
			t.Errorf("%s has blobs, driver files %v, want %v", scenario, got, want)
		}
		if scenario != Cold && filepath.Dir(own) == filled {
			t.Errorf("%s works in the directory that filled it", scenario)
		}
	}
}

func exists(t *testing.T, path string) bool {
	t.Helper()
	_, err := os.Stat(path)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

func TestScenarioEnvironmentHasNoDriverSettings(t *testing.T) {
	got := ScenarioEnvironment([]string{
		"HOME=/home/a", "__GL_SHADER_DISK_CACHE_PATH=/x", "__GL_SHADER_DISK_CACHE=0",
		"MESA_SHADER_CACHE_DISABLE=true", "MESA_GLSL_CACHE_DIR=/y", "MESA_DISK_CACHE_READ_ONLY_FOZ_DBS=warm", "MESA_DEBUG=1",
	})
	if want := []string{"HOME=/home/a", "MESA_DEBUG=1"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMedianFigures(t *testing.T) {
	runs := []Figures{
		{GetMillis: 3, TotalMillis: 30, Compiles: 0, Verified: true, DriverCache: "empty"},
		{GetMillis: 1, TotalMillis: 10, Compiles: 2, Verified: true, DriverCache: "empty"},
		{GetMillis: 2, TotalMillis: 90, Compiles: 0, Verified: true, DriverCache: "empty"},
	}
	m := medianFigures(runs)
	if m.GetMillis != 2 || m.TotalMillis != 30 || m.Compiles != 2 || m.leastCompiles != 0 || m.LeastTotalMillis != 10 || m.MostTotalMillis != 90 || !m.Verified || m.DriverCache != "empty" {
		t.Errorf("got %+v", m)
	}
	runs[1].Verified = false
	if medianFigures(runs).Verified {
		t.Error("one wrong run does not show")
	}
}

func TestVerdict(t *testing.T) {
	figures := func(name string, least, most uint64) map[string]Figures {
		return map[string]Figures{name: {leastCompiles: least, Compiles: most}}
	}
	for name, test := range map[string]struct {
		scenarios map[string]Figures
		wrong     string // in the error; "": none
	}{
		"good cold":                {figures(Cold, 48, 48), ""},
		"good both":                {figures(Both, 0, 0), ""},
		"nothing was chosen":       {nil, ""},
		"both compiled once":       {figures(Both, 0, 1), "both compiled 1 program"},
		"binary_only compiled":     {figures(BinaryOnly, 48, 48), "binary_only compiled 48 programs"},
		"cold found one once":      {figures(Cold, 47, 48), "cold compiled 47 of 48 programs"},
		"driver_only found all":    {figures(DriverOnly, 0, 0), "driver_only compiled 0 of 48 programs"},
		"good with the driver's":   {figures(DriverOnly, 48, 48), ""},
		"good with binaries alone": {figures(BinaryOnly, 0, 0), ""},
	} {
		err := (&Result{Programs: 48, Verified: true, Scenarios: test.scenarios}).Verdict()
		if (err != nil) != (test.wrong != "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if (&Result{Programs: 48, Scenarios: figures(Both, 0, 0)}).Verdict() == nil {
		t.Error("wrong results are no failure")
	}
}

// A result that is not all right must show, whichever element is wrong.
func TestWorkVerify(t *testing.T) {
	w, err := NewWork(14)
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range w.expected {
		for j, v := range e.Values {
			w.results[i][j] = float32(v)
		}
	}
	if !w.Verify() {
		t.Fatal("the expected values are not accepted")
	}
	last := w.results[13]
	last[len(last)-1] += 1
	if w.Verify() {
		t.Error("a wrong element is accepted")
	}
}
