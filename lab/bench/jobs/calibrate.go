package jobs

import (
	"fmt"
	"time"

	"github.com/shadercache/shadercache/glctx"
	"github.com/shadercache/shadercache/lab/bench/measure"
)

// calibrate returns the number of rounds that make a kernel take as long as size asks
// for, and what the parts of a job take alone.
func (r *run) calibrate(size jobSize) (rounds uint32, p PartFigures, err error) {
	p = PartFigures{KernelMicros: size.kernelMicros, UpBytes: size.bytes, DownBytes: size.bytes}
	// Small jobs are copied together.
	bytes := size.bytes * size.slotJobs
	err = r.gpu.Context.Do(func(gl *glctx.GL) error {
		up, err := gl.NewStaging(bytes, glctx.Upload)
		if err != nil {
			return err
		}
		defer gl.DeleteStaging(up)
		down, err := gl.NewStaging(bytes, glctx.Download)
		if err != nil {
			return err
		}
		defer gl.DeleteStaging(down)
		input, err := gl.NewBuffer(bytes, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(input)
		output, err := gl.NewBuffer(bytes, nil)
		if err != nil {
			return err
		}
		defer gl.DeleteBuffer(output)

		clear(up.Data)
		p.UploadMicros = fastest(gl, func() { gl.Copy(up.Buffer, 0, input, 0, bytes) }) / float64(size.slotJobs)
		p.DownloadMicros = fastest(gl, func() { gl.Copy(output, 0, down.Buffer, 0, bytes) }) / float64(size.slotJobs)

		program := r.kernel.Program()
		gl.UseProgram(program)
		gl.BindStorageRange(0, input, 0, size.bytes)
		gl.BindStorageRange(1, output, 0, size.bytes)
		location := gl.UniformLocation(program, "rounds")
		kernel := func(rounds uint32) float64 {
			gl.SetUint(location, rounds)
			return fastest(gl, func() {
				gl.Dispatch(groupsFor(size.bytes/4, kernelLocal), 1, 1)
				gl.MemoryBarrier(glctx.BarrierStorage)
			})
		}
		most := uint32(maxRounds)
		if gl.Info().Software() {
			most = maxRoundsSoftware
		}
		rounds, p.MeasuredMicros = roundsFor(size.kernelMicros, most, kernel)
		return gl.Err()
	})
	if err != nil {
		return 0, p, fmt.Errorf("calibrate: %w", err)
	}
	return rounds, p, nil
}

// roundsFor returns the rounds, at most most, with which kernel takes about the given
// time, and how long that is.
func roundsFor(micros float64, most uint32, kernel func(rounds uint32) float64) (uint32, float64) {
	rounds, took := uint32(1), kernel(1)
	for range 12 {
		if took > 0.97*micros && took < 1.03*micros || took >= micros && rounds == 1 || took < micros && rounds == most {
			break
		}
		step := min(max(micros/took, 0.1), 16)
		rounds = uint32(min(max(float64(rounds)*step+0.5, 1), float64(most)))
		took = kernel(rounds)
	}
	return rounds, took
}

// fastest returns how long the work takes on the GPU, in microseconds: the least of a
// few tries, each long enough to measure.
func fastest(gl *glctx.GL, work func()) float64 {
	try := func(n int) float64 {
		gl.Finish()
		start := time.Now()
		for range n {
			work()
		}
		gl.Finish()
		return measure.Micros(time.Since(start)) / float64(n)
	}
	n := max(1, min(200, int(1000/try(1))))
	least := try(n)
	for range 2 {
		least = min(least, try(n))
	}
	return least
}
