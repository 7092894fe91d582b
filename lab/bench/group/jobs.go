package group

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shadercache/shadercache"
	"github.com/shadercache/shadercache/conv2d"
	"github.com/shadercache/shadercache/devices"
	"github.com/shadercache/shadercache/lab/bench/jobs"
)

// workersPerDevice is the number of goroutines that submit jobs, for each device that is
// measured: copying the operands of a large job takes the host longer than its kernel takes
// the GPU.
const workersPerDevice = 6

// sampleStride is the distance of the words that are checked while time is measured.
const sampleStride = 64 << 10 / 4

// jobs measures independent jobs of size bytes each way, with chunk of them pending a
// goroutine. Their data is copied, or with place made and read in place.
func (r *run) jobs(name string, size, chunk int, place *place) error {
	program, err := r.group.Get(r.ctx, jobs.Kernel())
	if err != nil {
		return err
	}
	defer program.Release()
	s := &stream{run: r, size: size, chunk: chunk, place: place}
	s.prepare(workersPerDevice * r.result.Devices)
	if err := s.calibrate(program); err != nil {
		return err
	}
	row := Row{Workload: name, Detail: fmt.Sprintf("%d KiB each way, %s, kernel of %.0f us", size>>10, place, r.KernelMicros), Unit: "jobs/s"}
	if row.Verified, err = s.checkAll(program); err != nil {
		return err
	}
	err = r.compare(row, func(device shadercache.Device) (float64, error) {
		p, err := r.programOf(device, program)
		if err != nil {
			return 0, err
		}
		return s.rate(device, p)
	})
	if s.wrong.Load() > 0 {
		r.result.Verified, r.result.Rows[len(r.result.Rows)-1].Verified = false, false
	}
	return err
}

// large measures large jobs whose data is copied, and those whose data is in place.
func (r *run) large() error {
	if err := r.jobs(Large, int(r.LargeBytes), 1, nil); err != nil {
		return err
	}
	return r.jobs(Large, int(r.LargeBytes), 1, &place{})
}

// programOf returns the program of the group, or of its first member.
func (r *run) programOf(device shadercache.Device, program shadercache.Program) (shadercache.Program, error) {
	if device == shadercache.Device(r.group.Group) {
		return program, nil
	}
	return devices.On(r.ctx, program, 0)
}

// stream is a stream of jobs of one size.
type stream struct {
	*run
	size, chunk int
	place       *place     // nil: data is copied
	workers     []operands // of each goroutine that submits jobs
	rounds      uint32
	expected    func(uint32) uint32
	wrong       atomic.Int64 // words
}

// operands are the inputs and outputs of the jobs that a goroutine has pending; empty where
// they are in place.
type operands struct{ ins, outs [][]byte }

// prepare makes the operands of n goroutines: inputs, all different, and outputs.
func (s *stream) prepare(n int) {
	s.workers = make([]operands, n)
	var filling sync.WaitGroup
	for worker := range s.workers {
		filling.Go(func() { s.workers[worker] = s.buffers(worker) })
	}
	filling.Wait()
}

// job returns the job of an operand, all of whose words are checked, or some.
func (s *stream) job(p shadercache.Program, o operands, i int, all bool) *shadercache.Job {
	job := &shadercache.Job{Dispatch: s.dispatch(p, s.rounds)}
	if s.place != nil {
		job.Inputs, job.Outputs = s.place.operands(s, all)
	} else {
		job.Inputs, job.Outputs = []shadercache.Input{{Binding: 0, Data: o.ins[i]}}, []shadercache.Output{{Binding: 1, To: o.outs[i]}}
	}
	return job
}

// dispatch returns the dispatch of a job with a number of rounds.
func (s *stream) dispatch(p shadercache.Program, rounds uint32, buffers ...shadercache.Bound) shadercache.Dispatch {
	groups := uint32((s.size/4 + jobs.KernelLocal - 1) / jobs.KernelLocal)
	return shadercache.Dispatch{Program: p, Groups: [3]uint32{groups, 1, 1}, Buffers: buffers, Uniforms: []shadercache.Uniform{shadercache.Uint("rounds", rounds)}}
}

// calibrate sets the rounds that make the kernel of a job as long as KernelMicros: the time
// of many rounds, less that of few, with data that is on the device.
func (s *stream) calibrate(program shadercache.Program) error {
	one, err := s.group.Member(s.ctx, 0)
	if err != nil {
		return err
	}
	p, err := devices.On(s.ctx, program, 0)
	if err != nil {
		return err
	}
	var bound [2]shadercache.Bound
	for i := range bound {
		b, err := one.NewBuffer(s.ctx, s.size)
		if err != nil {
			return err
		}
		defer b.Release()
		bound[i] = shadercache.Bound{Binding: uint32(i), Buffer: b, ReadOnly: i == 0}
	}
	timed := func(rounds uint32) (float64, error) {
		best := time.Duration(1 << 62)
		for range 5 {
			began := time.Now()
			if err := one.Run(s.ctx, &shadercache.Job{Dispatch: s.dispatch(p, rounds, bound[:]...)}); err != nil {
				return 0, err
			}
			best = min(best, time.Since(began))
		}
		return best.Seconds() * 1e6, nil
	}
	few, most := uint32(64), jobs.MostRounds(s.info.Software())
	base, err := timed(few)
	for rounds := 4 * few; err == nil; rounds = min(4*rounds, most) {
		var took float64
		if took, err = timed(rounds); took-base > s.KernelMicros || rounds == most {
			perRound := max(took-base, 1e-3) / float64(rounds-few)
			s.rounds = uint32(min(max(s.KernelMicros/perRound, 1), float64(most)))
			break
		}
	}
	s.expected = jobs.Expected(s.rounds)
	return err
}

// rate runs jobs for about the time of a run and returns how many a second were done.
func (s *stream) rate(device shadercache.Device, p shadercache.Program) (float64, error) {
	var done atomic.Int64
	var workers errgroup.Group
	began := time.Now()
	until := began.Add(time.Duration(s.Seconds * float64(time.Second)))
	for _, own := range s.workersOf(device) {
		workers.Go(func() error {
			for time.Now().Before(until) && s.ctx.Err() == nil {
				if err := s.chunkOf(device, p, own, false); err != nil {
					return err
				}
				done.Add(int64(s.chunk))
			}
			return s.ctx.Err()
		})
	}
	err := workers.Wait()
	return perSecond(int(done.Load()), began), err
}

// workersOf returns the operands of the goroutines that submit to a device.
func (s *stream) workersOf(device shadercache.Device) []operands {
	if device == shadercache.Device(s.group.Group) {
		return s.workers
	}
	return s.workers[:workersPerDevice]
}

// buffers returns the operands of one goroutine, whose memory is in use already.
func (s *stream) buffers(worker int) (o operands) {
	if s.place != nil {
		return o
	}
	for i := range s.chunk {
		in := make([]byte, s.size)
		for k := 0; k < s.size; k += 4 {
			binary.LittleEndian.PutUint32(in[k:], uint32(k)*wordFactor+uint32(worker*s.chunk+i))
		}
		o.ins, o.outs = append(o.ins, in), append(o.outs, make([]byte, s.size))
		poison(o.outs[i], 1)
	}
	return o
}

// chunkOf submits a job for each operand, waits for all and checks them: every word, or one
// in sampleStride.
func (s *stream) chunkOf(device shadercache.Device, p shadercache.Program, o operands, all bool) error {
	list := make([]shadercache.Pending, 0, s.chunk)
	defer func() {
		for _, pending := range list {
			pending.Release()
		}
	}()
	stride := sampleStride
	if all {
		stride = 1
	}
	for i := range s.chunk {
		if s.place == nil {
			poison(o.outs[i], stride)
		}
		pending, err := device.Submit(s.ctx, s.job(p, o, i, all))
		if err != nil {
			return err
		}
		list = append(list, pending)
	}
	for _, pending := range list {
		if err := pending.Wait(s.ctx); err != nil {
			return err
		}
	}
	for i := range o.ins {
		s.check(o.ins[i], o.outs[i], stride)
	}
	return nil
}

// poison overwrites one word in stride.
func poison(out []byte, stride int) {
	for k := 0; k < len(out); k += 4 * stride {
		binary.LittleEndian.PutUint32(out[k:], conv2d.Poison)
	}
}

// check counts the wrong words, of one word in stride.
func (s *stream) check(in, out []byte, stride int) {
	for k := 0; k < s.size; k += 4 * stride {
		if binary.LittleEndian.Uint32(out[k:]) != s.expected(binary.LittleEndian.Uint32(in[k:])) {
			s.wrong.Add(1)
		}
	}
}

// checkAll runs jobs on every member and checks every word.
func (s *stream) checkAll(program shadercache.Program) (verified bool, err error) {
	for rank := range s.group.Len() {
		member, err := s.group.Member(s.ctx, rank)
		if err != nil {
			return false, err
		}
		p, err := devices.On(s.ctx, program, rank)
		if err != nil {
			return false, err
		}
		if err := s.chunkOf(member, p, s.workers[0], true); err != nil {
			return false, err
		}
	}
	return s.wrong.Load() == 0, nil
}
