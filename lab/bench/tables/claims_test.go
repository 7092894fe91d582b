package tables

import (
	"fmt"
	"math"

	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// claims returns the sentences that state figures of a log.
func claims(l *logs) []claim {
	var all []claim
	for _, some := range [][]claim{
		startupClaims(l), pictureClaims(l), residentProgramsClaims(l), executorClaims(l), kernelClaims(l), preloadClaims(l), residentClaims(l), limitsClaims(l),
	} {
		all = append(all, some...)
	}
	return all
}

func startupClaims(l *logs) []claim {
	at, one := l.startup("h200/startup-preload.json"), l.startup("h200/startup.json")
	here := l.startup("llvmpipe/startup.json")
	driver := func(s startupLog) float64 { return s.times("driver_only") }
	total := func(s startupLog, scenario string) string { return thousands(s.Scenarios[scenario].Total) }
	return []claim{
		newClaim(readme, "compiled %s ms, program binaries alone %s ms, the driver's own cache alone %s ms, both %s ms]",
			total(at, "cold"), total(at, "binary_only"), total(at, "driver_only"), total(at, "both")),
		newClaim(readme, "%s ms compiled, %s ms with program binaries alone, %s ms with the driver's own cache alone, **%s ms with both**",
			total(here, "cold"), total(here, "binary_only"), total(here, "driver_only"), total(here, "both")),
		newClaim(page, "both layers are %.1f times as fast as cold when programs are asked for one by one, and %.1f times when all are asked for at once",
			one.times("cold"), at.times("cold")),
		newClaim(page, "both layers are %.2f times as fast in total one by one, and %.2f times at once", driver(one), driver(at)),
		newClaim(page, "done after %.0f ms, of which EGL and the context take %.0f", at.Scenarios["both"].Process, at.Scenarios["both"].Context),
	}
}

// pictureClaims are those of shadercache run and run network.
func pictureClaims(l *logs) []claim {
	type runLog struct {
		Millis   float64 `json:"time_to_first_result_ms"`
		Compiles int     `json:"compiles"`
		DiskHits int     `json:"disk_hits"`
	}
	first, second := readLog[runLog](l, "h200/run1.json"), readLog[runLog](l, "h200/run2.json")
	network := readLog[struct {
		Compiles int     `json:"compiles"`
		Searches int     `json:"searches"`
		First    float64 `json:"first_result_ms"`
		Run      float64 `json:"run_ms"`
		Error    float64 `json:"max_error"`
	}](l, "h200/network.json")
	return []claim{
		newClaim(page, "first start %.0f ms to the first result, %d compiles; second start %.0f ms, %d compiles, %d from disk",
			first.Millis, first.Compiles, second.Millis, second.Compiles, second.DiskHits),
		newClaim(page, "compiles %d programs, searches %d plans and has its first verified result after %.0f ms", network.Compiles, network.Searches, network.First),
		newClaim(page, "a run takes %.2f ms, and the largest error is %.0e", network.Run, network.Error),
	}
}

func residentProgramsClaims(l *logs) []claim {
	get := func(name string) float64 { return stats.Median(l.goBench(name)["GetResident"]["ns/op"]) }
	return []claim{newClaim(readme, "| a program that is resident: get and release | %.0f ns | %.0f ns |", get("h200/cache.txt"), get("llvmpipe/cache.txt"))}
}

func executorClaims(l *logs) []claim {
	const small = 4 << 10
	e, d := l.executor("h200/executor.json"), l.dispatch("h200/dispatch.json")
	soak, gpuSoak := l.executor("llvmpipe/executor-soak.json").Soak, l.executor("h200/executor-soak.json").Soak
	one, three, large := e.row(2, small, 1), e.row(2, small, 3), 16<<20
	var at, waiting []float64 // CPU with kernels of 1 ms
	for _, r := range e.Rows {
		switch {
		case r.KernelMicros != 1000 || r.Bytes != small:
		case r.MaxDelayMicros > 0:
			waiting = append(waiting, r.CPUPercent)
		case r.Depth > 1:
			at = append(at, r.CPUPercent)
		}
	}
	cpu, delayed := stats.NewSpread(at), stats.NewSpread(waiting)
	return []claim{
		newClaim(readme, "| upload of jobs whose input lies in the slot | %.0f GB/s | |", e.Upload.GBPerS),
		newClaim(page, "already: **%.1f GB/s** up", e.Upload.GBPerS),
		newClaim(page, "4 KiB jobs of 2 us at depth 3 take %.2f us each, and %.2f us of CPU time.", three.micros(), three.CPUMicros),
		newClaim(page, "The same jobs are %.1f times as many as at depth 1, which takes %.0f us a job", one.micros()/three.micros(), one.micros()),
		newClaim(page, "Submit and Wait of a bare dispatch, one at a time, take %.0f us, a bare dispatch with a fence %.0f us", d.RoundTrip, d.Fence),
		newClaim(page, "16 MiB jobs reach %.0f%% of the bound at the default depth, 4, and %.0f%% at 6",
			100*e.row(1000, large, 4).OfBound, 100*e.row(1000, large, 6).OfBound),
		newClaim(page, "on an H200, the longest round %.1f times the median", gpuSoak.StallRatio),
		newClaim(page, "CPU time with kernels of 1 ms is %.0f to %.0f%% of a core where each result is delivered at once", cpu.Least, cpu.Most),
		newClaim(page, "(`MaxDelay`), it is %.0f to %.0f%%.", delayed.Least, delayed.Most),
		newClaim(page, "%s jobs from %d goroutines, every result checked", thousands(float64(soak.Jobs)), soak.Workers),
	}
}

// resnetShapes are the rows of the workload resnet, which come first.
const resnetShapes = 14

func kernelClaims(l *logs) []claim {
	var square []float64
	products := l.kernels("h200/gemm.json")
	for _, r := range products.Rows {
		switch r.name() {
		case "1024x1024x1024", "2048x2048x2048", "4096x4096x4096", "8192x8192x8192":
			square = append(square, r.Ratio)
		}
	}
	convolutions := ratios(l.kernels("h200/conv2d.json"))
	resnet := convolutions[:min(resnetShapes, len(convolutions))]
	mean, worst := measure.Geomean(resnet), stats.NewSpread(resnet).Least
	squares := stats.NewSpread(square)
	least := stats.NewSpread(ratios(products)).Least
	software := ratios(l.kernels("llvmpipe/conv2d.json"))
	here, hereWorst := measure.Geomean(software), stats.NewSpread(software).Least
	thousand := 0.0
	for _, r := range l.kernels("llvmpipe/gemm.json").Rows {
		if r.name() == "1024x1024x1024" {
			thousand = r.Ratio
		}
	}
	return []claim{
		newClaim(readme, "against im2col and gonum | %.2f times as fast | %.2f times |", mean, here),
		newClaim(readme, "against cuBLAS fp32; against gonum | %.2f to %.2f | %.1f |", squares.Least, squares.Most, thousand),
		newClaim(kernelsPage, "The geometric mean over ResNet's 14 shapes is **%.2f**, the lowest %.2f", mean, worst),
		newClaim(kernelsPage, "the lowest of the products is %.2f", least),
		newClaim(kernelsPage, "The convolutions: %.2f in the geometric mean, %.2f at least", here, hereWorst),
		newClaim(kernelsPage, "%.1f times gonum for 1024x1024x1024, %.2f at least", thousand, stats.NewSpread(ratios(l.kernels("llvmpipe/gemm.json"))).Least),
	}
}

func ratios(l kernelsLog) []float64 {
	var list []float64
	for _, r := range l.Rows {
		list = append(list, r.Ratio)
	}
	return list
}

// preloadClaims compare one isolated child with six.
func preloadClaims(l *logs) []claim {
	settled := func(name string) float64 {
		return readLog[struct {
			Isolation struct {
				Settled float64 `json:"settled_ms"`
			} `json:"isolation"`
		}](l, name).Isolation.Settled / 1e3
	}
	one, six := settled("h200/preload-48-1.json"), settled("h200/preload-48-6.json")
	return []claim{newClaim(page, "48 programs in one child took %.2f s, in six **%.2f s, %.1f times less**", one, six, one/six)}
}

// cudaMicros returns the median of the round trip in CUDA.
func cudaMicros(l *logs) float64 { return l.number("h200/roundtrip-cuda.txt", `median ([0-9.]+) us`) }

func residentClaims(l *logs) []claim {
	r := l.resident("h200/resident.json")
	message, cuda := r.row("round_trip", "persistent", "message and answer"), cudaMicros(l)
	wave := readLog[struct {
		PerSecond float64 `json:"steps_per_s"`
	}](l, "h200/run-wave.json")
	return []claim{
		newClaim(readme, "| a word to a kernel that keeps running and back; in CUDA | %.2f us; %.2f us | |", float64(r.Capabilities.RoundTripNanos)/1e3, cuda),
		newClaim(residentPage, "in CUDA on the same machine it takes %.2f us", cuda),
		newClaim(residentPage, "takes %.2f times as long as that word in CUDA", message.Median/cuda),
		newClaim(residentPage, "%s steps a second", thousands(wave.PerSecond)),
		newClaim(residentPage, "Residency: %d groups of 256 can wait for each other.", r.Capabilities.Residency),
	}
}

// thousands returns a value below a million, rounded, with a comma.
func thousands(v float64) string {
	n := int(math.Round(v))
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
