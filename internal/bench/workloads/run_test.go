package workloads

import (
	"testing"

	"github.com/shadercache/shadercache/demo/wave"
	"github.com/shadercache/shadercache/internal/bench/benchtest"
	"github.com/shadercache/shadercache/resident/queue"
)

func TestRunSteal(t *testing.T) {
	r, err := RunSteal(benchtest.Options(t), StealOptions{Options: queue.Options{Groups: 8, Local: 32, Takes: 8}, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	benchtest.Print(t, r, "steal on ", "stolen", "every task was done exactly once")
	if len(r.Rows) != 4 || r.Rows[0].Tasks != 2017 || r.Rows[0].Steal || !r.Rows[3].Steal {
		t.Errorf("%+v", r.Rows)
	}
}

func TestRunWave(t *testing.T) {
	r, err := RunWave(benchtest.Options(t), WaveOptions{Options: wave.Options{Width: 16, Height: 16, TilesX: 2, TilesY: 2}, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	benchtest.Print(t, r, "wave, 16x16 cells in 2x2 tiles on ", "frame", "every answer and every cell was verified")
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
