package jobs

import (
	"encoding/binary"
	"time"

	"github.com/shadercache/shadercache/executor"
	"github.com/shadercache/shadercache/job"
)

// measureUpload streams inputs that are in the slots already.
func (r *run) measureUpload() (err error) {
	u := UploadFigures{JobBytes: int(r.LargeBytes), Verified: true}
	const depth = 6
	e, err := executor.New(r.gpu.Context, r.gpu.Cache, executor.Options{Depth: depth, SlotBytes: u.JobBytes, SlotJobs: 1})
	if err != nil {
		return err
	}
	defer func() {
		if failed := e.Close(); err == nil {
			err = failed
		}
	}()
	wrong := 0
	places, begun := make([]place, depth), map[*byte]bool{}
	stamps := (u.JobBytes/4 + stampStride - 1) / stampStride
	for i := range places {
		p := &places[i]
		p.does, p.wrong, p.begun = affine{1, 0}, &wrong, begun
		p.job = job.Job{
			Dispatch: job.Dispatch{
				Program:  r.sample,
				Groups:   [3]uint32{groupsFor(stamps, sampleLocal), 1, 1},
				Uniforms: []job.Uniform{job.Uint("stride", stampStride)},
			},
			Inputs: []job.Input{{Binding: 0, Size: u.JobBytes, Fill: p.fill}},
			Outputs: []job.Output{{Binding: 1, Dirty: true, Size: 4 * stamps, Read: func(src []byte) {
				for i := range stamps {
					if !p.right(i*stampStride, binary.NativeEndian.Uint32(src[4*i:])) {
						wrong++
					}
				}
			}}},
		}
	}
	start := time.Now()
	number, err := r.turn(e, places, 0, 4*depth, nil)
	if err != nil {
		return err
	}
	u.Jobs = max(int(r.Seconds/(time.Since(start).Seconds()/(4*depth))), 4*depth)
	start = time.Now()
	if _, err := r.turn(e, places, number, u.Jobs, nil); err != nil {
		return err
	}
	u.GBPerS = float64(u.Jobs) * float64(u.JobBytes) / time.Since(start).Seconds() / 1e9
	u.Verified = wrong == 0
	r.result.Upload = &u
	r.result.Verified = r.result.Verified && u.Verified
	return nil
}
