package workloads

import (
	"strings"
	"testing"

	"github.com/shadercache/shadercache/binary"
	"github.com/shadercache/shadercache/cmd/clitest"
	"github.com/shadercache/shadercache/lab/bench/measure"
	"github.com/shadercache/shadercache/lab/demo/wave"
	"github.com/shadercache/shadercache/resident/queue"
)

// TestBenchmarksKeepTheirOwnCache runs a benchmark: the user's cache gets neither programs
// nor figures.
func TestBenchmarksKeepTheirOwnCache(t *testing.T) {
	o := clitest.Options(t)
	if _, err := RunSteal(o, StealOptions{Options: queue.Options{Groups: 8, Local: 32, Takes: 8}, Repeat: 1}); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{o.Dir: false, measure.Own(o).Dir: true} {
		d, err := binary.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		drivers, err := d.Fingerprints()
		if err != nil {
			t.Fatal(err)
		}
		lifetime, err := d.Lifetime()
		if err != nil {
			t.Fatal(err)
		}
		if (len(drivers) > 0) != want || (lifetime.Compiles > 0) != want || (d.DriverBytes() > 0) && !want {
			t.Errorf("%s: drivers %+v, lifetime %+v, %d bytes of the driver", dir, drivers, lifetime, d.DriverBytes())
		}
	}
}

func TestStealRefusesWhatItDoesNotUse(t *testing.T) {
	good := StealOptions{Options: queue.Options{Groups: 8, Local: 32, Takes: 8}, Repeat: 1}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*StealOptions){
		"--groups": func(o *StealOptions) { o.Groups = 0 }, "--local": func(o *StealOptions) { o.Local = 1025 }, "--takes": func(o *StealOptions) { o.Takes = -1 },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRunSteal(t *testing.T) {
	r, err := RunSteal(clitest.Options(t), StealOptions{Options: queue.Options{Groups: 8, Local: 32, Takes: 8}, Repeat: 3})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Print(t, r, "steal on ", "stolen", "every task was done exactly once")
	if len(r.Rows) != 9 || r.Rows[0].Tasks != 2017 || r.Rows[0].Steal || !r.Rows[5].Steal || r.Rows[7].Form != "divided" || r.Rows[7].Heavy == 0 {
		t.Errorf("%+v", r.Rows)
	}
	for _, row := range r.Rows {
		if !row.Verified || row.Micros <= 0 || row.Groups != 8 || row.Repeat != 3 || row.Rounds < 3 {
			t.Errorf("%+v", row)
		}
	}
}

func TestRunWave(t *testing.T) {
	r, err := RunWave(clitest.Options(t), WaveOptions{Options: wave.Options{Width: 16, Height: 16, TilesX: 2, TilesY: 2}, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Print(t, r, "wave, 16x16 cells in 2x2 tiles on ", "frame", "every answer and every cell was verified")
}

func TestVerdicts(t *testing.T) {
	for name, err := range map[string]error{
		"interpreter": (&InterpreterResult{}).Verdict(), "wave": (&WaveResult{}).Verdict(), "steal": (&StealResult{}).Verdict(),
		"--repeat of steal": StealOptions{}.Validate(), "--repeat of wave": WaveOptions{}.Validate(), "--repeat": InterpreterOptions{}.Validate(),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
