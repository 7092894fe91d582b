//go:build linux

package recorder_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// BenchmarkOverhead is the CPU time of processes with and without the recorder, in turns. It
// reports the median of each and of their ratios. Each process records to a folder of its
// own, but for the cached ones: they find what they record, as a program's second run does,
// and Mesa finds its machine code. The folders are in $RECORDINGS, else in TMPDIR.
func BenchmarkOverhead(b *testing.B) {
	program := plain.program(b, "overhead.c")
	for _, work := range []string{"link 500", "run 100", "run-cached 100", "calls 10000000", "use 10000000"} {
		b.Run(strings.ReplaceAll(work, " ", "-"), func(b *testing.B) {
			name, count, _ := strings.Cut(work, " ")
			name, cached := strings.CutSuffix(name, "-cached")
			cache := b.TempDir()
			cpu := func(folder string) float64 {
				cmd := plain.command(b, folder, program, "local", name, count)
				if cached {
					cmd.Env = append(cmd.Env, "MESA_SHADER_CACHE_DISABLE=false", "MESA_SHADER_CACHE_DIR="+cache)
				}
				if folder == "" {
					cmd.Env = append(cmd.Env, "LD_PRELOAD=")
				}
				run(b, cmd)
				return float64(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()) / float64(time.Millisecond)
			}
			folders, err := os.MkdirTemp(os.Getenv("RECORDINGS"), "overhead") // removed last: ext4 is slow where files were removed
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { os.RemoveAll(folders) })
			cpu("")
			folder := filepath.Join(folders, "first")
			cpu(folder)
			var with, without, ratios []float64
			for range b.N {
				without = append(without, cpu(""))
				if !cached {
					folder = filepath.Join(folders, strconv.Itoa(len(with)))
				}
				with = append(with, cpu(folder))
				ratios = append(ratios, with[len(with)-1]/without[len(without)-1])
			}
			b.ReportMetric(median(without), "ms-without")
			b.ReportMetric(median(with), "ms-with")
			b.ReportMetric(100*(median(ratios)-1), "%-more")
		})
	}
}

func median(values []float64) float64 {
	values = slices.Sorted(slices.Values(values))
	return values[len(values)/2]
}
