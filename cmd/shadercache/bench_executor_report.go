package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/shadercache/shadercache/internal/cli"
)

// executorResult is what bench executor prints.
type executorResult struct {
	Workload    string         `json:"workload"`
	GPU         string         `json:"gpu"`
	Driver      string         `json:"driver"`
	DriverCache string         `json:"driver_cache"`
	Origin      cli.Origin     `json:"origin"`
	Repeat      int            `json:"repeat"`
	Interrupted bool           `json:"interrupted"`
	Rows        []executorRow  `json:"rows"`
	Upload      *uploadFigures `json:"upload,omitempty"`
	Soak        *soakFigures   `json:"soak,omitempty"`
	Parts       []partFigures  `json:"parts"`
	Verified    bool           `json:"verified"`
}

// executorRow is one kernel length, one size and one depth.
type executorRow struct {
	KernelMicros     float64 `json:"kernel_us"` // as asked for
	UpBytes          int     `json:"up_bytes"`
	DownBytes        int     `json:"down_bytes"`
	Depth            int     `json:"depth"`
	MaxDelayMicros   float64 `json:"max_delay_us"`
	SlotJobs         int     `json:"slot_jobs"`
	Jobs             int     `json:"jobs"`
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
	Verified         bool    `json:"verified"`
	wallBelowGPUTime bool
}

// uploadFigures are of jobs whose inputs lie in the slots already.
type uploadFigures struct {
	JobBytes int     `json:"job_bytes"`
	Jobs     int     `json:"jobs"`
	GBPerS   float64 `json:"gb_per_s"`
	Verified bool    `json:"verified"`
}

// partFigures are what the parts of a job take alone.
type partFigures struct {
	KernelMicros   float64 `json:"kernel_us"`
	UpBytes        int     `json:"up_bytes"`
	DownBytes      int     `json:"down_bytes"`
	UploadMicros   float64 `json:"upload_us"`
	MeasuredMicros float64 `json:"kernel_measured_us"`
	DownloadMicros float64 `json:"download_us"`
	HostMicros     float64 `json:"host_us"`
}

func (p partFigures) sum() float64 {
	return p.UploadMicros + p.MeasuredMicros + p.DownloadMicros + p.HostMicros
}

func (p partFigures) largest() float64 {
	return max(p.UploadMicros, p.MeasuredMicros, p.DownloadMicros, p.HostMicros)
}

// Verdict is an error when the figures cannot be trusted.
func (r *executorResult) Verdict() error {
	if !r.Verified {
		return unverified("results on the GPU were wrong")
	}
	if r.Soak != nil && len(r.Soak.Leaks) > 0 {
		return cli.Hint(fmt.Errorf("bench: soak: %s", strings.Join(r.Soak.Leaks, "; ")), "something is not given back; run it for longer to see at what rate")
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

func (r *executorResult) Print(w io.Writer) {
	fmt.Fprintf(w, "%s on %s\ndriver %s\ndriver's own cache: %s\n%s\n\n", r.Workload, r.GPU, r.Driver, r.DriverCache, r.Origin)
	if r.Soak != nil {
		r.Soak.Print(w)
	} else {
		r.printRows(w)
	}
	if r.Verified {
		fmt.Fprintln(w, "every result was verified")
	} else {
		fmt.Fprintln(w, "RESULTS WERE WRONG")
	}
}

func (r *executorResult) printRows(w io.Writer) {
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
		fmt.Fprintf(w, "upload of jobs of %s that lie in the slot: %.1f GB/s\n", cli.ReadableBytes(int64(r.Upload.JobBytes)), r.Upload.GBPerS)
	}
}
