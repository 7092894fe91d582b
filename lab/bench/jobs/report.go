package jobs

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/shadercache/shadercache/cmd/bench"
	"github.com/shadercache/shadercache/cmd/bench/stats"
	"github.com/shadercache/shadercache/cmd/cli"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// Result is what bench executor prints.
type Result struct {
	Workload string `json:"workload"` // what was measured
	bench.Header
	Repeat      int            `json:"repeat"`      // runs of each row
	Interrupted bool           `json:"interrupted"` // it was ended early
	Rows        []Row          `json:"rows"`        // one for each measurement
	Upload      *UploadFigures `json:"upload,omitempty"`
	Soak        *SoakFigures   `json:"soak,omitempty"`
	Parts       []PartFigures  `json:"parts"`
	Verified    bool           `json:"verified"` // every result is right
}

// Row is one kernel length, one size and one depth.
type Row struct {
	KernelMicros     float64 `json:"kernel_us"` // as asked for
	UpBytes          int     `json:"up_bytes"`
	DownBytes        int     `json:"down_bytes"`
	Depth            int     `json:"depth"`
	MaxDelayMicros   float64 `json:"max_delay_us"`
	SlotJobs         int     `json:"slot_jobs"`
	Jobs             int     `json:"jobs"` // that were done
	WallMillis       float64 `json:"wall_ms"`
	GPUMillis        float64 `json:"gpu_ms"` // 0 where the driver's clock does not run
	JobsPerSecond    float64 `json:"jobs_per_s"`
	LeastJobs        float64 `json:"least_jobs_per_s"`
	MostJobs         float64 `json:"most_jobs_per_s"`
	SpeedupVsDepth1  float64 `json:"speedup_vs_depth1"`
	OverlapBound     float64 `json:"overlap_bound"`
	OfBound          float64 `json:"of_bound"`
	JobsPerBatch     float64 `json:"jobs_per_batch"`
	SubmitMicros     float64 `json:"submit_us"`
	CPUMicrosPerJob  float64 `json:"cpu_us_per_job"`
	CPUPercent       float64 `json:"cpu_percent"`
	AllocationsAJob  float64 `json:"allocations_per_job"`
	Verified         bool    `json:"verified"` // every result is right
	wallBelowGPUTime bool
}

// setFigures sets the figures of the run in the middle, and the speeds of the slowest
// and the fastest.
func (row *Row) setFigures(middle streamFigures, runs []streamFigures) {
	speeds := make([]float64, len(runs))
	for i, f := range runs {
		speeds[i] = f.jobsPerSecond()
	}
	spread := stats.NewSpread(speeds)
	row.LeastJobs, row.MostJobs = spread.Least, spread.Most
	row.Jobs = middle.jobs
	row.WallMillis = cli.Milliseconds(middle.wall)
	row.JobsPerSecond = middle.jobsPerSecond()
	row.JobsPerBatch = float64(middle.stats.Jobs) / float64(middle.stats.Batches)
	row.SubmitMicros = middle.submit
	row.CPUMicrosPerJob = measure.Micros(middle.cpu) / float64(middle.jobs)
	row.CPUPercent = 100 * middle.cpu.Seconds() / middle.wall.Seconds()
	row.AllocationsAJob = middle.allocations
}

// UploadFigures are those of jobs whose inputs are in the slots already.
type UploadFigures struct {
	JobBytes int     `json:"job_bytes"`
	Jobs     int     `json:"jobs"` // that were done
	GBPerS   float64 `json:"gb_per_s"`
	Verified bool    `json:"verified"` // every result is right
}

// PartFigures are the times that the parts of a job take alone.
type PartFigures struct {
	KernelMicros   float64 `json:"kernel_us"` // of the kernel
	UpBytes        int     `json:"up_bytes"`
	DownBytes      int     `json:"down_bytes"`
	UploadMicros   float64 `json:"upload_us"`
	MeasuredMicros float64 `json:"kernel_measured_us"`
	DownloadMicros float64 `json:"download_us"`
	HostMicros     float64 `json:"host_us"`
}

func (p PartFigures) sum() float64 {
	return p.UploadMicros + p.MeasuredMicros + p.DownloadMicros + p.HostMicros
}

func (p PartFigures) largest() float64 {
	return max(p.UploadMicros, p.MeasuredMicros, p.DownloadMicros, p.HostMicros)
}

// Verdict returns an error where the figures cannot be trusted.
func (r *Result) Verdict() error {
	if !r.Verified {
		return bench.Unverified("results on the GPU were wrong")
	}
	if r.Soak != nil && len(r.Soak.Leaks) > 0 {
		return measure.Grew(strings.Join(r.Soak.Leaks, "; "))
	}
	if r.Soak != nil && r.Soak.Stalled {
		return measure.Stalled(fmt.Sprintf("a round took %.1f ms, %.1f times the median of %.3f ms", r.Soak.MaxMillis, r.Soak.StallRatio, r.Soak.MedianMillis))
	}
	if r.Interrupted {
		return context.Canceled
	}
	for _, row := range r.Rows {
		if row.wallBelowGPUTime {
			return cli.Hint(fmt.Errorf("bench: %g us at depth %d: the GPU worked for longer than the run took", row.KernelMicros, row.Depth), "the figures mean nothing; the driver's clock may be broken")
		}
	}
	return nil
}

// Print writes the result for people.
func (r *Result) Print(w io.Writer) {
	r.Header.Print(w, r.Workload+" on "+r.GPU)
	fmt.Fprintln(w)
	if r.Soak != nil {
		r.Soak.Print(w)
	} else {
		r.printRows(w)
	}
	bench.PrintVerified(w, r.Verified, "every result was verified", "RESULTS WERE WRONG")
}

func (r *Result) printRows(w io.Writer) {
	fmt.Fprintln(w, "kernel\teach way\tdepth\tdelay us\tjobs\tus/job\tleast\tmost\tGPU us/job\tspeed-up\tbound\tof bound\tbatch\tSubmit us\tCPU us\tCPU\tallocations")
	for _, row := range r.Rows {
		jobs := float64(row.Jobs)
		fmt.Fprintf(w, "%g us\t%s\t%d\t%g\t%d\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.1f\t%.2f\t%.2f\t%.0f%%\t%.2f\n", row.KernelMicros,
			cli.ReadableBytes(int64(row.UpBytes)), row.Depth, row.MaxDelayMicros, row.Jobs, 1e3*row.WallMillis/jobs, 1e6/row.MostJobs, 1e6/row.LeastJobs, 1e3*row.GPUMillis/jobs, row.SpeedupVsDepth1,
			row.OverlapBound, row.OfBound, row.JobsPerBatch, row.SubmitMicros, row.CPUMicrosPerJob, row.CPUPercent, row.AllocationsAJob)
	}
	fmt.Fprintln(w, "\nalone, us a job\teach way\tupload\tkernel\tdownload\thost")
	for _, p := range r.Parts {
		fmt.Fprintf(w, "%g us\t%s\t%.2f\t%.2f\t%.2f\t%.2f\n", p.KernelMicros, cli.ReadableBytes(int64(p.UpBytes)),
			p.UploadMicros, p.MeasuredMicros, p.DownloadMicros, p.HostMicros)
	}
	fmt.Fprintln(w)
	if r.Upload != nil {
		fmt.Fprintf(w, "upload of jobs of %s that are in the slot: %.1f GB/s\n", cli.ReadableBytes(int64(r.Upload.JobBytes)), r.Upload.GBPerS)
	}
}
