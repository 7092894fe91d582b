// Package gobench reads what Go's benchmarks print.
package gobench

import (
	"strconv"
	"strings"
)

// Figures are those of benchmarks: by name without the number of processors, the values of
// all runs by their unit.
type Figures map[string]map[string][]float64

// Read returns the figures of all benchmarks in a text. Other lines are skipped.
func Read(text string) Figures {
	figures := Figures{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || !strings.HasPrefix(words[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(words[0], "Benchmark")
		if at := strings.LastIndex(name, "-"); at > 0 {
			name = name[:at]
		}
		if figures[name] == nil {
			figures[name] = map[string][]float64{}
		}
		for i := 2; i+1 < len(words); i += 2 {
			if v, err := strconv.ParseFloat(words[i], 64); err == nil {
				figures[name][words[i+1]] = append(figures[name][words[i+1]], v)
			}
		}
	}
	return figures
}
