package tables

import "fmt"

// replayLog is what scripts/replay-trial writes.
type replayLog struct {
	Driver   string `json:"driver"`
	Programs []struct {
		Name     string `json:"name"`
		Programs int    `json:"programs"`
		Replay   struct {
			Refused   int `json:"refused"`
			Failed    int `json:"failed"`
			NotPrimed int `json:"not_primed"`
		} `json:"replay"`
		Starts map[string]replayStart `json:"starts"`
	} `json:"programs"`
}

type replayStart struct {
	CPU    float64 `json:"cpu_ms"`
	Shader float64 `json:"shader_ms"`
	Added  float64 `json:"added"`
}

// millis returns the CPU time from the first shader on where the program prints it, else
// of the process.
func (s replayStart) millis() float64 {
	if s.Shader > 0 {
		return s.Shader
	}
	return s.CPU
}

// replayTable returns starts of foreign programs after a replay beside others.
func replayTable(l *logs, files ...string) string {
	t := newTable("program", "driver", "programs", "cold", "second", "after a replay", "to the second", "cold to the second", "entries added: cold", "after a replay")
	for _, file := range files {
		log := readLog[replayLog](l, file)
		driver := "22.3"
		if len(log.Driver) > 7 && log.Driver[:7] == "Mesa 25" {
			driver = "25.0"
		}
		for _, p := range log.Programs {
			cold, second, after := p.Starts["cold"], p.Starts["second"], p.Starts["replayed"]
			programs := fmt.Sprint(p.Programs)
			if p.Replay.Refused > 0 {
				programs += fmt.Sprintf(", %d refused", p.Replay.Refused)
			}
			if p.Replay.Failed > 0 {
				programs += fmt.Sprintf(", %d failed", p.Replay.Failed)
			}
			t.row(p.Name, driver, programs, ms(cold.millis()), ms(second.millis()), ms(after.millis()),
				times(after.millis()/second.millis()), times(cold.millis()/second.millis()), fmt.Sprint(cold.Added), fmt.Sprint(after.Added))
		}
	}
	return t.String()
}

func times(ratio float64) string { return fmt.Sprintf("%.2f times", ratio) }
