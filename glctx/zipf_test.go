//go:build linux

package glctx_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shadercache/shadercache/cache"
	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/glctx/gltest"
	"github.com/shadercache/shadercache/job"
)

// zipfEnvironment holds the directory of a process that replays a trace.
const zipfEnvironment = "GLCTX_TEST_ZIPF"

// The trace: requests for programs of startup48 and more of its kind, the n-th most
// popular with a probability of 1/n^1.1, and a cache that keeps a quarter of them
// resident.
const (
	zipfPrograms = 200
	zipfResident = 50
	zipfRequests = 20_000
	zipfExponent = 1.1
)

// zipfResult is what the process prints.
type zipfResult struct {
	Resident, Memory, Disk, Compiled uint64
	LoadMillis                       []float64 // of the programs from disk, to primed
	MemoryMillis                     []float64 // of those that were evicted and loaded again from memory
}

// TestZipfChild is such a process.
func TestZipfChild(t *testing.T) {
	dir := os.Getenv(zipfEnvironment)
	if dir == "" {
		return
	}
	device, err := glctx.Open(glctx.Options{CacheDir: dir})
	noError(t, err)
	defer device.Close()
	c, err := cache.New(device, cache.Options{Dir: dir, MaxPrograms: zipfResident})
	noError(t, err)
	sources := startupSources(t, zipfPrograms, device.Info().MaxSharedBytes)
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(sources), func(i, j int) { sources[i], sources[j] = sources[j], sources[i] })
	popularity := rand.NewZipf(random, zipfExponent, 1, zipfPrograms-1)
	var r zipfResult
	for range zipfRequests {
		began := time.Now()
		h, err := c.Get(context.Background(), sources[popularity.Uint64()])
		took := time.Since(began).Seconds() * 1e3
		noError(t, err)
		switch h.Origin() {
		case job.Disk:
			r.LoadMillis = append(r.LoadMillis, took)
		case job.Memory:
			r.MemoryMillis = append(r.MemoryMillis, took)
		}
		h.Release()
	}
	s := c.Stats()
	r.Resident, r.Memory, r.Disk, r.Compiled = s.ResidentHits, s.MemoryHits, s.DiskHits, s.Compiles
	noError(t, c.Close())
	line, err := json.Marshal(r)
	noError(t, err)
	os.Stdout.WriteString("outcome: " + string(line) + "\n")
}

func replayZipf(b *testing.B, dir string) (r zipfResult) {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestZipfChild$", "-test.v")
	cmd.Env = append(os.Environ(), zipfEnvironment+"="+dir)
	out, err := cmd.CombinedOutput()
	_, outcome, found := strings.Cut(string(out), "outcome: ")
	if err != nil || !found {
		b.Fatalf("%v\n%s", err, out)
	}
	noError(b, json.Unmarshal([]byte(strings.SplitN(outcome, "\n", 2)[0]), &r))
	return r
}

// BenchmarkZipf replays the trace in a process on an empty directory, then in another one
// on what that left. requests-% are shares of all requests; under-N-% are shares of the
// loads that took less than N ms, a Get each.
func BenchmarkZipf(b *testing.B) {
	gltest.Open(b)
	dir := b.TempDir()
	for _, name := range []string{"first", "second"} {
		b.Run(name, func(b *testing.B) {
			run := dir
			for range b.N {
				if name == "first" {
					run = dir + "/" + time.Now().Format("150405.000000")
				}
				r := replayZipf(b, run)
				reportZipf(b, r)
			}
			dir = run
		})
	}
}

func reportZipf(b *testing.B, r zipfResult) {
	percent := func(part, all float64) float64 { return 100 * part / max(all, 1) }
	all := float64(r.Resident + r.Memory + r.Disk + r.Compiled)
	b.ReportMetric(percent(float64(r.Resident), all), "resident-%")
	b.ReportMetric(percent(all-float64(r.Compiled), all), "no-compile-%")
	b.ReportMetric(float64(r.Compiled), "compiles")
	for kind, millis := range map[string][]float64{"disk": r.LoadMillis, "memory": r.MemoryMillis} {
		if len(millis) == 0 {
			continue
		}
		slices.Sort(millis)
		b.ReportMetric(float64(len(millis)), kind+"-loads")
		b.ReportMetric(millis[len(millis)/2], kind+"-p50-ms")
		b.ReportMetric(millis[len(millis)*99/100], kind+"-p99-ms")
		b.ReportMetric(millis[len(millis)-1], kind+"-max-ms")
		for bound, name := range map[float64]string{0.25: "0.25", 0.5: "0.5", 1: "1", 2: "2", 5: "5"} {
			under, _ := slices.BinarySearch(millis, bound)
			b.ReportMetric(percent(float64(under), float64(len(millis))), kind+"-under-"+name+"-%")
		}
	}
}
